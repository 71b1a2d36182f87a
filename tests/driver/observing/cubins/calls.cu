__device__ __noinline__ unsigned helper(unsigned x) { return x * MUL + 1; }
extern "C" __global__ void caller(unsigned *to, unsigned x) { to[0] = helper(x); }
extern "C" __global__ void alone(unsigned *to) { to[0] = 1; }
