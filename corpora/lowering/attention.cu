// Attention for one head, O = softmax(Q K^T * sc) V: three-pass forms and online forms.

constexpr unsigned all_lanes = 0xffffffffu;
constexpr float lowest = -3.4e38f;

// Attends with one block per query and keeps the probabilities in global memory (head size 64,
// 128 threads per block).
//@ thread_reduce op=sum_of_products axis=loop64
//@ thread_reduce op=max axis=loop
//@ thread_reduce op=sum axis=loop
//@ tile_reuse space=shared arrays=q
//@ fma_chain loop=yes kind=accumulate
//@ block_reduce op=max via=shfl+smem
//@ block_reduce op=sum via=shfl+smem
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor count=2
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor count=2
//@ broadcast of=reduction via=butterfly count=2
//@ roundtrip space=global array=P sync=barrier same_thread=yes what=scores survives=yes
//@ roundtrip space=global array=P sync=barrier same_thread=no what=probability survives=yes
//@ special fn=EX2 count=1
//@ sync count=5
extern "C" __global__ void attn_naive_mat(
    const float* __restrict__ Q,
    const float* __restrict__ K,
    const float* __restrict__ V,
    float* P,
    float* __restrict__ O,
    int S,
    float sc) {
  __shared__ float partial[32];
  __shared__ float q[64];
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  int warps = blockDim.x >> 5;
  float* p = P + (size_t)blockIdx.x * S;

  if (t < 64) {
    q[t] = Q[blockIdx.x * 64 + t];
  }
  __syncthreads();

  // Scores and their maximum.
  float maximum = lowest;
  for (int j = t; j < S; j += blockDim.x) {
    float score = 0;
    for (int d = 0; d < 64; d++) {
      score += q[d] * K[(size_t)j * 64 + d];
    }
    score *= sc;
    p[j] = score;
    maximum = fmaxf(maximum, score);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  if (lane == 0) {
    partial[warp] = maximum;
  }
  __syncthreads();
  maximum = lane < warps ? partial[lane] : lowest;
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  __syncthreads();

  // Exponentials and their sum.
  float sum = 0;
  for (int j = t; j < S; j += blockDim.x) {
    float e = __expf(p[j] - maximum);
    p[j] = e;
    sum += e;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    partial[warp] = sum;
  }
  __syncthreads();
  sum = lane < warps ? partial[lane] : 0.f;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  __syncthreads();

  // Weighted sum of the values.
  if (t < 64) {
    float out = 0;
    for (int j = 0; j < S; j++) {
      out += p[j] * V[(size_t)j * 64 + t];
    }
    O[blockIdx.x * 64 + t] = __fdividef(out, sum);
  }
}

// Attends with one block per query and keeps the probabilities in shared memory (head size 64,
// 128 threads per block).
//@ thread_reduce op=sum_of_products axis=loop64
//@ thread_reduce op=max axis=loop
//@ thread_reduce op=sum axis=loop
//@ tile_reuse space=shared arrays=q,p
//@ fma_chain loop=yes kind=accumulate count=2
//@ roundtrip space=shared array=P sync=barrier same_thread=no what=probability survives=yes
//@ block_reduce op=max via=shfl+smem
//@ block_reduce op=sum via=shfl+smem
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor count=2
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor count=2
//@ broadcast of=reduction via=butterfly count=2
//@ special fn=EX2 count=1
//@ sync count=5
extern "C" __global__ void attn_smem_probs(
    const float* __restrict__ Q,
    const float* __restrict__ K,
    const float* __restrict__ V,
    float* __restrict__ O,
    int S,
    float sc) {
  extern __shared__ float p[];
  __shared__ float partial[32];
  __shared__ float q[64];
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  int warps = blockDim.x >> 5;

  if (t < 64) {
    q[t] = Q[blockIdx.x * 64 + t];
  }
  __syncthreads();

  // Scores and their maximum.
  float maximum = lowest;
  for (int j = t; j < S; j += blockDim.x) {
    float score = 0;
    for (int d = 0; d < 64; d++) {
      score += q[d] * K[(size_t)j * 64 + d];
    }
    score *= sc;
    p[j] = score;
    maximum = fmaxf(maximum, score);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  if (lane == 0) {
    partial[warp] = maximum;
  }
  __syncthreads();
  maximum = lane < warps ? partial[lane] : lowest;
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  __syncthreads();

  // Exponentials and their sum.
  float sum = 0;
  for (int j = t; j < S; j += blockDim.x) {
    float e = __expf(p[j] - maximum);
    p[j] = e;
    sum += e;
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    partial[warp] = sum;
  }
  __syncthreads();
  sum = lane < warps ? partial[lane] : 0.f;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  __syncthreads();

  // Weighted sum of the values.
  if (t < 64) {
    float out = 0;
    for (int j = 0; j < S; j++) {
      out += p[j] * V[(size_t)j * 64 + t];
    }
    O[blockIdx.x * 64 + t] = __fdividef(out, sum);
  }
}

// Attends with one warp per query and an online softmax, so that no probability is ever stored
// (head size 64, two elements per lane).
//@ online state=max_sum_acc
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor in_loop=yes
//@ broadcast of=reduction via=butterfly
//@ special fn=EX2 count=2
//@ fma_chain loop=yes kind=rescale count=3
//@ vec load=8 store=8
//@ thread_reduce op=online axis=loop
extern "C" __global__ void attn_online_warp(
    const float2* __restrict__ Q,
    const float2* __restrict__ K,
    const float2* __restrict__ V,
    float2* __restrict__ O,
    int S,
    float sc) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  float2 q = Q[row * 32 + lane];
  float maximum = lowest;
  float sum = 0;
  float out0 = 0;
  float out1 = 0;
  for (int j = 0; j < S; j++) {
    float2 k = K[j * 32 + lane];
    float score = q.x * k.x + q.y * k.y;
    for (int offset = 16; offset > 0; offset >>= 1) {
      score += __shfl_xor_sync(all_lanes, score, offset);
    }
    score *= sc;
    float new_maximum = fmaxf(maximum, score);
    float correction = __expf(maximum - new_maximum);
    float e = __expf(score - new_maximum);
    float2 v = V[j * 32 + lane];
    sum = sum * correction + e;
    out0 = out0 * correction + e * v.x;
    out1 = out1 * correction + e * v.y;
    maximum = new_maximum;
  }
  float inverse = __fdividef(1.f, sum);
  O[row * 32 + lane] = make_float2(out0 * inverse, out1 * inverse);
}

// Attends in flash style: one thread per query, tiles of 32 keys and values in shared memory and
// an online softmax (head size 32, held in registers).
//@ online state=max_sum_acc
//@ tile_reuse space=shared arrays=K,V
//@ fma_chain loop=yes kind=rescale count=32
//@ sync count=2 in_loop=yes
//@ special fn=EX2 count=2
//@ thread_reduce op=sum_of_products axis=unrolled32
//@ thread_reduce op=online axis=loop
extern "C" __global__ void attn_flash_tile(
    const float* __restrict__ Q,
    const float* __restrict__ K,
    const float* __restrict__ V,
    float* __restrict__ O,
    int S,
    float sc) {
  __shared__ float k_tile[32][32];
  __shared__ float v_tile[32][32];
  int t = threadIdx.x;
  int row = blockIdx.x * 32 + t;
  float q[32];
  float out[32];
  float maximum = lowest;
  float sum = 0;
  #pragma unroll
  for (int d = 0; d < 32; d++) {
    q[d] = Q[row * 32 + d] * sc;
    out[d] = 0.f;
  }
  for (int j0 = 0; j0 < S; j0 += 32) {
    for (int r = 0; r < 32; r++) {
      k_tile[r][t] = K[(j0 + r) * 32 + t];
      v_tile[r][t] = V[(j0 + r) * 32 + t];
    }
    __syncthreads();
    for (int j = 0; j < 32; j++) {
      float score = 0;
      #pragma unroll
      for (int d = 0; d < 32; d++) {
        score += q[d] * k_tile[j][d];
      }
      float new_maximum = fmaxf(maximum, score);
      float correction = __expf(maximum - new_maximum);
      float e = __expf(score - new_maximum);
      sum = sum * correction + e;
      #pragma unroll
      for (int d = 0; d < 32; d++) {
        out[d] = out[d] * correction + e * v_tile[j][d];
      }
      maximum = new_maximum;
    }
    __syncthreads();
  }
  float inverse = __fdividef(1.f, sum);
  #pragma unroll
  for (int d = 0; d < 32; d++) {
    O[row * 32 + d] = out[d] * inverse;
  }
}
