// Where any code will do.

extern "C" __global__ void scale(float *x, float a)
{
    x[threadIdx.x] *= a;
}

extern "C" __global__ void total(float *out, const float *x, int n)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 32)
        sum += x[i];
    for (int m = 16; m; m >>= 1)
        sum += __shfl_xor_sync(~0u, sum, m);
    if (threadIdx.x == 0)
        *out = sum;
}
