extern "C" __global__ void a_kernel_before_all_others(float *to, float by, int n) { for (int i = 0; i < n; i++) to[i] = to[i] / by; }
#include "one.cu"
template <typename T> __global__ void unrelated(T *to, T by) { __shared__ T kept[128]; kept[threadIdx.x] = by; __syncthreads(); to[threadIdx.x] *= kept[127 - threadIdx.x]; }
template __global__ void unrelated<float>(float *, float);
template __global__ void unrelated<double>(double *, double);
