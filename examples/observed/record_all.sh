#!/bin/sh
# Record every program of this folder, unchanged, into a folder: sh examples/observed/record_all.sh FOLDER
set -eu
folder=$1
mkdir -p "$folder"
record() {
    name=$1
    shift
    python3 -m sigcontract record --no-host --code all -o "$folder/$name" -m "$@" >"$folder/$name.log" 2>&1 ||
        echo "failed: $name"
    number=0
    for dump in "$folder/$name"/*.dump.json; do
        suffix=$([ $number -eq 0 ] || echo "-$number")
        mv "$dump" "$folder/$name$suffix.dump.json"
        number=$((number + 1))
    done
    rmdir "$folder/$name"
}
programs=examples.observed.programs
record preferred-cluster $programs.preferred_cluster &
record triton-scale-2 $programs.triton_scale 2 &
record triton-scale-3 $programs.triton_scale 3 &
record compile $programs.compile_mlp &
record cupy $programs.cupy_graph &
record two-ranks $programs.two_ranks &
record torch-block $programs.torch_block &
wait
