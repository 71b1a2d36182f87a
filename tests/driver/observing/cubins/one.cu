extern "C" __global__ void put(unsigned *to, unsigned value) { __shared__ unsigned kept[64]; kept[threadIdx.x] = value; __syncthreads(); to[threadIdx.x] = kept[63 - threadIdx.x] + ADD; }
extern "C" __global__ void other(unsigned *to) { to[0] = 3; }
