// Small kernels that together show most kinds of operands and control flow; the tests compile
// them for several architectures. Each kernel is here for the instructions that its comment names.

#include <cuda_fp16.h>

__constant__ float table[64];
__device__ float (*chosen)(float);
__device__ int counter;
extern "C" __device__ int printf(const char *, ...);

__device__ __noinline__ float slow(float x)
{
    return sinf(x) + table[(int)x & 63];
}

// CALL and RET of a local function, relocated addresses, an indirect call, a constant with a register
extern "C" __global__ void calls(float *x, int n)
{
    float value = slow(x[threadIdx.x]);
    if (n > 3)
        value += slow(value);
    if (n > 5)
        value = chosen(value);
    if (value > 1e6f)
        printf("%f\n", value);
    x[threadIdx.x] = value;
}

// BRX with its table of targets
extern "C" __global__ void choice(int *x, int n)
{
    int i = threadIdx.x, y = x[i];
    switch (n) {
    case 0: y = y * y + 3; x[i + 1] = y; break;
    case 1: y = __popc(y); x[i + 2] = y; break;
    case 2: y = __clz(y) + 1; x[i + 3] = y; break;
    case 3: y = __brev(y); x[i + 4] = y; break;
    case 4: y ^= i; x[i + 5] = y; break;
    case 5: y = y / 7; x[i + 6] = y; break;
    case 6: atomicAdd(x + 7, y); break;
    }
    x[i] = y;
}

// infinities, absolute values, negations, predicates as sources, selects, division with its slow path
extern "C" __global__ void floats(float *x, double *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i], b = x[i + n], best = -__int_as_float(0x7f800000);
    for (int k = 0; k < n; k++)
        best = fmaxf(best, fabsf(x[k]) - 0.5f);
    bool odd = (a > b) != (n & 1);
    x[i] = odd ? a / b : -fabsf(a) * b + best;
    d[i] = d[i] * 2.5 + (double)a / d[n];
    if (!isfinite(a) && fabsf(b) < 1e-3f)
        d[n] = sqrt(d[i]);
}

// 64-bit integers: carries, wide products, shifts, division
extern "C" __global__ void integers(long long *x, unsigned long long *y, int n)
{
    int i = threadIdx.x;
    x[i] = x[i] * n + (x[n] >> i);
    y[i] = y[i] / (unsigned long long)n + (y[n] << 3);
    x[n] = x[i] > x[i + 1] ? (long long)__umulhi(n, i) : -x[n];
}

// packed halves with selectors
extern "C" __global__ void halves(__half2 *x, __half *y, int n)
{
    __half2 v = x[threadIdx.x];
    __half s = y[n];
    v = __hfma2(v, __half2half2(s), __lowhigh2highlow(v));
    if (__hgt(__low2half(v), s))
        v = __hmul2(v, __float2half2_rn(0.25f));
    x[threadIdx.x] = __hadd2(v, __habs2(x[n]));
    y[threadIdx.x] = __hadd(__high2half(v), s);
}

// shared memory, barriers, shuffles, votes, atomics
extern "C" __global__ void __launch_bounds__(256) warp(float *x, int *hits, int n)
{
    __shared__ float tile[32][33];
    int lane = threadIdx.x & 31;
    float v = x[threadIdx.x];
    tile[lane][threadIdx.x >> 5] = v;
    __syncthreads();
    v += tile[threadIdx.x >> 5][lane];
    for (int m = 16; m; m >>= 1)
        v += __shfl_xor_sync(~0u, v, m);
    int above = __shfl_up_sync(~0u, lane, 1), first = __shfl_sync(~0u, lane, n);
    unsigned same = __match_any_sync(~0u, above), ballot = __ballot_sync(~0u, v > 0);
    if (lane == 0)
        atomicAdd(&x[n], v);
    if (first == above)
        hits[lane] = atomicCAS(hits + n, lane, __popc(same & ballot));
    if (v < 0)
        atomicAdd((float *)&tile[0][0], v), counter = n;
    __syncthreads();
    hits[threadIdx.x] += tile[0][0];
}

// the tensor core and its loads; 128-bit accesses
extern "C" __global__ void tensor(const uint4 *a, const uint2 *b, float4 *c)
{
    __shared__ uint4 tile[64];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncwarp();
    unsigned r0, r1, place = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(place));
    float4 f = c[threadIdx.x];
    uint2 v = b[threadIdx.x];
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(f.x), "+f"(f.y), "+f"(f.z), "+f"(f.w) : "r"(r0), "r"(r1), "r"(v.x));
    c[threadIdx.x] = f;
}

#if __CUDA_ARCH__ >= 800
// asynchronous copies, warp reductions in one instruction
extern "C" __global__ void copies(int *x, const int *y)
{
    __shared__ int tile[256];
    unsigned place = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.commit_group;\ncp.async.wait_group 0;"
                 :: "r"(place), "l"(y + threadIdx.x) : "memory");
    __syncthreads();
    x[threadIdx.x] = __reduce_add_sync(~0u, tile[threadIdx.x ^ 1]);
}
#endif
