// Normalizations over rows (layer norm, RMS norm) and with stored statistics (batch norm).

constexpr unsigned all_lanes = 0xffffffffu;

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

// Normalizes a row per block (layer norm) in two passes: the mean, then the squared deviations.
//@ thread_reduce op=sum axis=loop
//@ thread_reduce op=sum_of_products axis=loop
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor count=4
//@ block_reduce op=sum via=shfl+smem count=2
//@ broadcast of=reduction via=butterfly count=2
//@ special fn=RSQ count=1
//@ affine form=channel_ab
//@ reload array=x times=3
//@ sync count=4
//@ slowpath fn=div
extern "C" __global__ void ln_twopass(
    const float* __restrict__ x,
    const float* __restrict__ g,
    const float* __restrict__ b,
    float* __restrict__ y,
    int n,
    float eps) {
  __shared__ float partial[32];
  const float* row = x + (size_t)blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
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

// Normalizes a row per warp (layer norm) in one pass over the sum and the sum of squares.
//@ thread_reduce op=sum axis=loop
//@ thread_reduce op=sum_of_products axis=loop
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor count=2
//@ broadcast of=reduction via=butterfly count=2
//@ special fn=RSQ count=1
//@ affine form=channel_ab
//@ reload array=x times=2
//@ slowpath fn=div
extern "C" __global__ void ln_onepass_warp(
    const float* __restrict__ x,
    const float* __restrict__ g,
    const float* __restrict__ b,
    float* __restrict__ y,
    int n,
    float eps) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  const float* in = x + (size_t)row * n;
  float sum = 0;
  float squares = 0;
  for (int i = lane; i < n; i += 32) {
    float v = in[i];
    sum += v;
    squares += v * v;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
    squares += __shfl_xor_sync(all_lanes, squares, offset);
  }
  float mean = sum / n;
  float scale = rsqrtf(squares / n - mean * mean + eps);
  for (int i = lane; i < n; i += 32) {
    y[(size_t)row * n + i] = (in[i] - mean) * scale * g[i] + b[i];
  }
}

// Normalizes a row per warp (layer norm without weights) with Welford's running mean and variance.
//@ online state=welford
//@ thread_reduce op=welford axis=loop
//@ warp_reduce op=welford dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
//@ special fn=RSQ count=1
//@ special fn=RCP count=many
//@ reload array=x times=2
//@ slowpath fn=div
extern "C" __global__ void ln_welford_warp(
    const float* __restrict__ x, float* __restrict__ y, int n, float eps) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  const float* in = x + (size_t)row * n;
  float count = 0;
  float mean = 0;
  float m2 = 0;
  for (int i = lane; i < n; i += 32) {
    float v = in[i];
    count += 1.f;
    float d = v - mean;
    mean += d / count;
    m2 += d * (v - mean);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    float other_count = __shfl_xor_sync(all_lanes, count, offset);
    float other_mean = __shfl_xor_sync(all_lanes, mean, offset);
    float other_m2 = __shfl_xor_sync(all_lanes, m2, offset);
    float total = count + other_count;
    float d = other_mean - mean;
    float inverse = total > 0.f ? __fdividef(1.f, total) : 0.f;
    mean = (count * mean + other_count * other_mean) * inverse;
    m2 = m2 + other_m2 + d * d * count * other_count * inverse;
    count = total;
  }
  float scale = rsqrtf(m2 / count + eps);
  for (int i = lane; i < n; i += 32) {
    y[(size_t)row * n + i] = (in[i] - mean) * scale;
  }
}

// Divides a row per warp by its root mean square (RMS norm).
//@ thread_reduce op=sum_of_products axis=loop
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
//@ special fn=RSQ count=1
//@ reload array=x times=2
//@ fma_chain loop=yes kind=accumulate form=square
//@ slowpath fn=div
extern "C" __global__ void rms_warp(
    const float* __restrict__ x,
    const float* __restrict__ g,
    float* __restrict__ y,
    int n,
    float eps) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  const float* in = x + (size_t)row * n;
  float squares = 0;
  for (int i = lane; i < n; i += 32) {
    float v = in[i];
    squares += v * v;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    squares += __shfl_xor_sync(all_lanes, squares, offset);
  }
  float scale = rsqrtf(squares / n + eps);
  for (int i = lane; i < n; i += 32) {
    y[(size_t)row * n + i] = in[i] * scale * g[i];
  }
}

// Adds a residual, stores the sum h and normalizes it after a barrier (RMS norm, block per row).
//@ thread_reduce op=sum_of_products axis=loop
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor count=2
//@ block_reduce op=sum via=shfl+smem
//@ broadcast of=reduction via=butterfly
//@ special fn=RSQ count=1
//@ elementwise f=residual_add stage=producer
//@ roundtrip space=global array=h sync=barrier same_thread=yes survives=yes what=residual observed=yes
//@ sync count=2
//@ slowpath fn=div
extern "C" __global__ void rms_residual_block(
    const float* __restrict__ x,
    const float* __restrict__ res,
    float* h,
    const float* __restrict__ g,
    float* __restrict__ y,
    int n,
    float eps) {
  __shared__ float partial[32];
  size_t o = (size_t)blockIdx.x * n;
  float squares = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = x[o + i] + res[o + i];
    h[o + i] = v;
    squares += v * v;
  }
  float scale = rsqrtf(block_sum(squares, partial) / n + eps);
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[o + i] = h[o + i] * scale * g[i];
  }
}

// Adds a residual and normalizes the sum h in registers (RMS norm, warp per row of 128).
//@ thread_reduce op=sum_of_products axis=unrolled
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
//@ special fn=RSQ count=1
//@ vec load=16 store=16
//@ reuse value=h kind=register
extern "C" __global__ void rms_residual_reg128(
    const float4* __restrict__ x,
    const float4* __restrict__ res,
    const float4* __restrict__ g,
    float4* __restrict__ y,
    float eps) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  int o = row * 32 + lane;
  float4 h = x[o];
  float4 r = res[o];
  h.x += r.x;
  h.y += r.y;
  h.z += r.z;
  h.w += r.w;
  float squares = h.x * h.x + h.y * h.y + h.z * h.z + h.w * h.w;
  for (int offset = 16; offset > 0; offset >>= 1) {
    squares += __shfl_xor_sync(all_lanes, squares, offset);
  }
  float scale = rsqrtf(squares * (1.f / 128.f) + eps);
  float4 w = g[lane];
  h.x *= scale * w.x;
  h.y *= scale * w.y;
  h.z *= scale * w.z;
  h.w *= scale * w.w;
  y[o] = h;
}

// Normalizes an NCHW tensor with stored mean and variance per channel (batch norm at inference).
//@ elementwise f=batchnorm_inference vec=1
//@ affine form=channel_ab
//@ special fn=RSQ count=1
//@ broadcast of=input via=global axis=channel
extern "C" __global__ void bn_infer(
    const float* __restrict__ x,
    const float* __restrict__ mu,
    const float* __restrict__ var,
    const float* __restrict__ g,
    const float* __restrict__ b,
    float* __restrict__ y,
    int C,
    int HW,
    float eps) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  int c = blockIdx.y;
  if (p < HW) {
    size_t i = ((size_t)blockIdx.z * C + c) * HW + p;
    y[i] = (x[i] - mu[c]) * rsqrtf(var[c] + eps) * g[c] + b[c];
  }
}
