// Kernels for the measurement of memory traffic that corpora/lowering does not have: the forms after an
// advice was followed, and a round trip over many blocks.

constexpr unsigned all_lanes = 0xffffffffu;

// Stores T in one loop and reads it back in the next; each block has a contiguous part.
extern "C" __global__ void two_loops_grid(
    const float* __restrict__ x, float* T, float* __restrict__ y, int part) {
  int first = blockIdx.x * part;
  for (int i = first + threadIdx.x; i < first + part; i += blockDim.x) {
    T[i] = x[i] * 2.f;
  }
  for (int i = first + threadIdx.x; i < first + part; i += blockDim.x) {
    y[i] = T[i] + 1.f;
  }
}

// Computes both stages of the round trip at once, over the same parts.
extern "C" __global__ void one_loop_grid(const float* __restrict__ x, float* __restrict__ y, int part) {
  int first = blockIdx.x * part;
  for (int i = first + threadIdx.x; i < first + part; i += blockDim.x) {
    y[i] = x[i] * 2.f + 1.f;
  }
}

// Sums over the block and gives every thread the result; `partial` holds one float per warp.
__device__ __forceinline__ float block_sum(float sum, float* partial) {
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  __syncthreads();
  if (lane == 0) {
    partial[warp] = sum;
  }
  __syncthreads();
  sum = lane < (blockDim.x >> 5) ? partial[lane] : 0.f;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  return sum;
}

// rms_residual_block with the sum h in shared memory instead of global memory.
extern "C" __global__ void rms_residual_shared(
    const float* __restrict__ x,
    const float* __restrict__ res,
    const float* __restrict__ g,
    float* __restrict__ y,
    int n,
    float eps) {
  extern __shared__ float h[];
  __shared__ float partial[32];
  size_t o = (size_t)blockIdx.x * n;
  float squares = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = x[o + i] + res[o + i];
    h[i] = v;
    squares += v * v;
  }
  float scale = rsqrtf(block_sum(squares, partial) / n + eps);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[o + i] = h[i] * scale * g[i];
  }
}

// ln_twopass with the row in shared memory, so that it is loaded once.
extern "C" __global__ void ln_shared(
    const float* __restrict__ x,
    const float* __restrict__ g,
    const float* __restrict__ b,
    float* __restrict__ y,
    int n,
    float eps) {
  extern __shared__ float row[];
  __shared__ float partial[32];
  const float* in = x + (size_t)blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    row[i] = in[i];
    sum += row[i];
  }
  float mean = block_sum(sum, partial) / n;
  float squares = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float d = row[i] - mean;
    squares += d * d;
  }
  float scale = rsqrtf(block_sum(squares, partial) / n + eps);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[(size_t)blockIdx.x * n + i] = (row[i] - mean) * scale * g[i] + b[i];
  }
}

// rms_warp with the row in registers, 32 elements a thread; a block has n / 32 threads.
extern "C" __global__ void rms_registers(
    const float* __restrict__ x,
    const float* __restrict__ g,
    float* __restrict__ y,
    int n,
    float eps) {
  __shared__ float partial[32];
  size_t o = (size_t)blockIdx.x * n;
  float v[32];
  float squares = 0;
  #pragma unroll
  for (int k = 0; k < 32; k++) {
    v[k] = x[o + threadIdx.x + k * blockDim.x];
    squares += v[k] * v[k];
  }
  float scale = rsqrtf(block_sum(squares, partial) / n + eps);
  #pragma unroll
  for (int k = 0; k < 32; k++) {
    int i = threadIdx.x + k * blockDim.x;
    y[o + i] = v[k] * scale * g[i];
  }
}

// One instruction of the multifunction unit on every element: how far is it from the correctly rounded value?
#define MULTIFUNCTION(name, instruction)                                                              \
  extern "C" __global__ void name(const float* __restrict__ x, float* __restrict__ y, int n) {        \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                    \
    if (i < n) {                                                                                      \
      asm(instruction " %0, %1;" : "=f"(y[i]) : "f"(x[i]));                                           \
    }                                                                                                 \
  }

MULTIFUNCTION(mufu_rcp, "rcp.approx.ftz.f32")
MULTIFUNCTION(mufu_rsq, "rsqrt.approx.ftz.f32")
MULTIFUNCTION(mufu_sqrt, "sqrt.approx.ftz.f32")
MULTIFUNCTION(mufu_ex2, "ex2.approx.ftz.f32")
MULTIFUNCTION(mufu_lg2, "lg2.approx.ftz.f32")
MULTIFUNCTION(mufu_sin, "sin.approx.ftz.f32")
MULTIFUNCTION(mufu_cos, "cos.approx.ftz.f32")
MULTIFUNCTION(mufu_tanh, "tanh.approx.f32")
