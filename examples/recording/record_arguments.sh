#!/bin/sh
# Record what kernels are passed, each case in a process of its own: sh examples/recording/record_arguments.sh
set -eu
folder=examples/arguments
mkdir -p "$folder"
record() {
    timeout 120 python3 -m "examples.recording.$1" "$folder/$2.dump.json" || echo "failed: $2"
}
for case in scalar-2 scalar-3 freed-input distinct-inputs aliased-inputs triton-scalar-2 triton-scalar-3; do
    record argument_cases "$case" &
done
record compile_mlp compile &
for epsilon in 1e-5 1e-6; do
    dumps=$(mktemp -d)
    timeout 120 python3 -m sigcontract record --arguments --no-host --label '{caller}/{order}' -o "$dumps" \
        -m examples.observed.programs.jax_mlp "$epsilon" &&
        mv "$dumps"/*.dump.json "$folder/jax-$epsilon.dump.json" || echo "failed: jax-$epsilon"
    rmdir "$dumps"
done
wait
