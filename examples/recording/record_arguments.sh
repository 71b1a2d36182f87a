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
wait
