#!/bin/sh
# How the cubins beside this were made, with CUDA 13.0's compiler: sh make.sh
set -eu
compile() { nvcc -cubin "-arch=$3" "$4" "$1" -o "$2.cubin"; }
compile one.cu one sm_90 -DADD=1
compile one.cu two sm_90 -DADD=2
compile one.cu one-sm80 sm_80 -DADD=1
compile more.cu more sm_90 -DADD=1
for start in 5 6; do compile globals.cu "globals-$start" sm_90 "-DSTART=$start"; done
for factor in 3 5; do
    nvcc -arch=sm_90 -rdc=true -dc "-DMUL=$factor" calls.cu -o calls.o
    nvlink -arch=sm_90 calls.o -o "calls-$factor.cubin"
done
rm calls.o
gzip -9n ./*.cubin
