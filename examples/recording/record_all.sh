#!/bin/sh
# Record every example into a folder, side by side: sh examples/recording/record_all.sh FOLDER
set -eu
folder=$1
mkdir -p "$folder"
record() {
    timeout 240 python3 -m "examples.recording.$1" "$folder/$2.dump.json" >"$folder/$2.log" 2>&1 || echo "failed: $2"
}
record two_modules two-modules &
record clusters clusters &
record nodes nodes &
record triton_scale triton-scale-2 &
record triton_scale triton-scale-3 &
record torch_block torch-block &
record compile_mlp compile &
wait
