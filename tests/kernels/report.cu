// Kernels for tests of reports: a reduction with loops, accesses side by side, registers that do not fit, and
// a name that a test replaces by a hostile one of the same length.

extern "C" __global__ void row_softmax(float *y, const float *x, int n)
{
    const float *row = x + blockIdx.x * n;
    float m = -3.0e38f;
    for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, row[i]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    float s = 0.0f;
    for (int i = threadIdx.x; i < n; i += 32) s += __expf(row[i] - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = __expf(row[i] - m) / s;
}

extern "C" __global__ void side_by_side(float *y, const float *x)
{
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    y[i] = x[i] + x[i + 1] * x[i + 2] - x[i + 3];
}

extern "C" __global__ void crowded(float *y, const float *x)
{
    float v[48];
#pragma unroll
    for (int i = 0; i < 48; i++) v[i] = x[i * 32 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 48; i++) y[i * 32 + threadIdx.x] = v[(i * 7) % 48] * v[47 - i];
}

extern "C" __global__ void hostile_name_of_25_bytes_(float *x)
{
    x[threadIdx.x] += 1.0f;
}
