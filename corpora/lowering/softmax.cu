// Softmax over rows: three-pass forms, online forms, and where the intermediate values live.

constexpr unsigned all_lanes = 0xffffffffu;
constexpr float lowest = -3.4e38f;

// Computes softmax with one block per row and keeps the exponentials in global memory.
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor count=2
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor count=2
//@ block_reduce op=max via=shfl+smem
//@ block_reduce op=sum via=shfl+smem
//@ thread_reduce op=max axis=loop
//@ thread_reduce op=sum axis=loop
//@ broadcast of=reduction via=butterfly count=2
//@ roundtrip space=global array=y sync=barrier same_thread=yes survives=yes what=exp
//@ special fn=EX2 count=1
//@ approx fn=exp
//@ slowpath fn=div
//@ special fn=RCP count=1
//@ reload array=x times=2
//@ sync count=3
extern "C" __global__ void sm_block_mat(const float* __restrict__ x, float* y, int n) {
  __shared__ float partial[32];
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  const float* in = x + (size_t)blockIdx.x * n;
  float* out = y + (size_t)blockIdx.x * n;

  // Maximum.
  float maximum = lowest;
  for (int i = t; i < n; i += blockDim.x) {
    maximum = fmaxf(maximum, in[i]);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  if (lane == 0) {
    partial[warp] = maximum;
  }
  __syncthreads();
  maximum = lane < (blockDim.x >> 5) ? partial[lane] : lowest;
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  __syncthreads();

  // Exponentials and their sum.
  float sum = 0;
  for (int i = t; i < n; i += blockDim.x) {
    float e = __expf(in[i] - maximum);
    out[i] = e;
    sum += e;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    partial[warp] = sum;
  }
  __syncthreads();
  sum = lane < (blockDim.x >> 5) ? partial[lane] : 0.f;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }

  // Quotients.
  for (int i = t; i < n; i += blockDim.x) {
    out[i] = out[i] / sum;
  }
}

// Computes softmax with one block per row and computes the exponentials a second time.
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor count=2
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor count=2
//@ block_reduce op=max via=shfl+smem
//@ block_reduce op=sum via=shfl+smem
//@ thread_reduce op=max axis=loop
//@ thread_reduce op=sum axis=loop
//@ broadcast of=reduction via=butterfly count=2
//@ special fn=EX2 count=2
//@ approx fn=exp,div
//@ special fn=RCP count=1
//@ reload array=x times=3
//@ recompute what=exp
//@ sync count=3
extern "C" __global__ void sm_block_recompute(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float partial[32];
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  const float* in = x + (size_t)blockIdx.x * n;
  float* out = y + (size_t)blockIdx.x * n;

  // Maximum.
  float maximum = lowest;
  for (int i = t; i < n; i += blockDim.x) {
    maximum = fmaxf(maximum, in[i]);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  if (lane == 0) {
    partial[warp] = maximum;
  }
  __syncthreads();
  maximum = lane < (blockDim.x >> 5) ? partial[lane] : lowest;
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  __syncthreads();

  // Sum of the exponentials.
  float sum = 0;
  for (int i = t; i < n; i += blockDim.x) {
    sum += __expf(in[i] - maximum);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    partial[warp] = sum;
  }
  __syncthreads();
  sum = lane < (blockDim.x >> 5) ? partial[lane] : 0.f;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }

  // Exponentials again, times the inverse sum.
  float inverse = __fdividef(1.f, sum);
  for (int i = t; i < n; i += blockDim.x) {
    out[i] = __expf(in[i] - maximum) * inverse;
  }
}

// Computes softmax with one warp per row of 128 and keeps the row in registers.
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly count=2
//@ special fn=EX2 count=4
//@ thread_reduce op=max axis=unrolled4
//@ thread_reduce op=sum axis=unrolled4
//@ reuse value=x,exp kind=register
//@ slowpath fn=div
extern "C" __global__ void sm_warp_row128(const float* __restrict__ x, float* __restrict__ y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  const float* in = x + (size_t)row * 128;
  float* out = y + (size_t)row * 128;
  float v[4];
  float maximum = lowest;
  #pragma unroll
  for (int k = 0; k < 4; k++) {
    v[k] = in[lane + 32 * k];
    maximum = fmaxf(maximum, v[k]);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  float sum = 0;
  #pragma unroll
  for (int k = 0; k < 4; k++) {
    v[k] = expf(v[k] - maximum);
    sum += v[k];
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  #pragma unroll
  for (int k = 0; k < 4; k++) {
    out[lane + 32 * k] = v[k] / sum;
  }
}

// Computes softmax with one warp per row and a running (maximum, sum) that the lanes then merge.
//@ online state=max_sum
//@ warp_reduce op=online dtype=f32 width=32 steps=5 dir=xor
//@ thread_reduce op=online axis=loop
//@ broadcast of=reduction via=butterfly
//@ special fn=EX2 count=2+2+1
//@ reload array=x times=2
//@ approx fn=exp,div
extern "C" __global__ void sm_online_warp(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  const float* in = x + (size_t)row * n;
  float* out = y + (size_t)row * n;
  float maximum = lowest;
  float sum = 0;
  for (int i = lane; i < n; i += 32) {
    float v = in[i];
    float new_maximum = fmaxf(maximum, v);
    sum = sum * __expf(maximum - new_maximum) + __expf(v - new_maximum);
    maximum = new_maximum;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    float other_maximum = __shfl_xor_sync(all_lanes, maximum, offset);
    float other_sum = __shfl_xor_sync(all_lanes, sum, offset);
    float new_maximum = fmaxf(maximum, other_maximum);
    sum = sum * __expf(maximum - new_maximum) + other_sum * __expf(other_maximum - new_maximum);
    maximum = new_maximum;
  }
  float inverse = __fdividef(1.f, sum);
  for (int i = lane; i < n; i += 32) {
    out[i] = __expf(in[i] - maximum) * inverse;
  }
}

// Computes softmax with one thread per row.
//@ thread_reduce op=max axis=loop
//@ thread_reduce op=sum axis=loop
//@ broadcast of=reduction via=register count=2
//@ special fn=EX2 count=2
//@ reload array=x times=3
//@ slowpath fn=div
extern "C" __global__ void sm_thread_row(
    const float* __restrict__ x, float* __restrict__ y, int rows, int n) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) {
    return;
  }
  const float* in = x + (size_t)row * n;
  float* out = y + (size_t)row * n;
  float maximum = lowest;
  float sum = 0;
  for (int i = 0; i < n; i++) {
    maximum = fmaxf(maximum, in[i]);
  }
  for (int i = 0; i < n; i++) {
    sum += expf(in[i] - maximum);
  }
  for (int i = 0; i < n; i++) {
    out[i] = expf(in[i] - maximum) / sum;
  }
}

// Computes the exponentials only, from row maxima that an earlier kernel left in global memory.
//@ elementwise f=exp_sub_scalar vec=1
//@ broadcast of=reduction via=global cross_kernel=yes axis=row
//@ special fn=EX2 count=1
extern "C" __global__ void sm_k2_exp(
    const float* __restrict__ x, const float* __restrict__ mx, float* __restrict__ e, int n) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  size_t i = (size_t)blockIdx.y * n + c;
  if (c < n) {
    e[i] = expf(x[i] - mx[blockIdx.y]);
  }
}

// Computes softmax with one block per row that is held in shared memory; thread 0 combines the
// warps' partial results.
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=down
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=down
//@ thread_reduce op=max axis=loop
//@ thread_reduce op=sum axis=loop
//@ block_reduce op=max via=shfl+smem
//@ block_reduce op=sum via=shfl+smem
//@ broadcast of=reduction via=shared count=2
//@ roundtrip space=shared array=buf sync=barrier same_thread=yes what=row_tile survives=yes
//@ sync count=5
//@ special fn=EX2 count=1
//@ approx fn=exp
//@ slowpath fn=div
extern "C" __global__ void sm_block_smem_row(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  extern __shared__ float buf[];
  __shared__ float partial[32];
  __shared__ float result;
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  int warps = blockDim.x >> 5;
  const float* in = x + (size_t)blockIdx.x * n;

  // Copy of the row and its maximum.
  float maximum = lowest;
  for (int i = t; i < n; i += blockDim.x) {
    float v = in[i];
    buf[i] = v;
    maximum = fmaxf(maximum, v);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_down_sync(all_lanes, maximum, offset));
  }
  if (lane == 0) {
    partial[warp] = maximum;
  }
  __syncthreads();
  if (t == 0) {
    float accumulator = partial[0];
    for (int k = 1; k < warps; k++) {
      accumulator = fmaxf(accumulator, partial[k]);
    }
    result = accumulator;
  }
  __syncthreads();
  maximum = result;
  __syncthreads();

  // Exponentials and their sum.
  float sum = 0;
  for (int i = t; i < n; i += blockDim.x) {
    float e = __expf(buf[i] - maximum);
    buf[i] = e;
    sum += e;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    partial[warp] = sum;
  }
  __syncthreads();
  if (t == 0) {
    float accumulator = 0;
    for (int k = 0; k < warps; k++) {
      accumulator += partial[k];
    }
    result = accumulator;
  }
  __syncthreads();
  sum = result;

  // Quotients.
  for (int i = t; i < n; i += blockDim.x) {
    y[(size_t)blockIdx.x * n + i] = buf[i] / sum;
  }
}
