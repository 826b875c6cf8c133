// Compiled with -rdc=true: everything here is filled in by the linker later.

extern __device__ float outside(float);
extern __device__ int numbers[10];
extern __constant__ float factors[4];
extern __shared__ float tile[];
extern "C" __device__ int printf(const char *, ...);
__device__ float (*chosen)(float) = outside;

__device__ __noinline__ float inside(float x)
{
    return x * outside(x) + factors[2];
}

extern "C" __global__ void linked(float *p, int n)
{
    printf("%d\n", n);
    p[0] = outside(p[1]) + inside(p[2]) + chosen(p[3]) + numbers[n];
    tile[threadIdx.x] = p[0];
    __syncthreads();
    p[9] = tile[threadIdx.x ^ 1];
}
