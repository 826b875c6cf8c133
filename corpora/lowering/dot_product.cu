// Dot products: from one thread to a whole grid, in 32-bit floating point and 8-bit integers.

constexpr unsigned all_lanes = 0xffffffffu;

// Computes a dot product in one thread.
//@ thread_reduce op=sum_of_products dtype=f32 axis=loop
//@ fma_chain loop=yes kind=accumulate
extern "C" __global__ void dot_thread(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ o, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) {
    sum += a[i] * b[i];
  }
  o[0] = sum;
}

// Computes one dot product per warp.
//@ thread_reduce op=sum_of_products dtype=f32 axis=loop
//@ fma_chain loop=yes kind=accumulate
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=down
extern "C" __global__ void dot_warp(
    const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ o, int n) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  const float* a_row = a + (size_t)warp * n;
  const float* b_row = b + (size_t)warp * n;
  float sum = 0;
  for (int i = lane; i < n; i += 32) {
    sum += a_row[i] * b_row[i];
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    o[warp] = sum;
  }
}

// Computes one dot product per grid: each block reduces its part and adds it atomically.
//@ thread_reduce op=sum_of_products dtype=f32 axis=loop
//@ fma_chain loop=yes kind=accumulate
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ block_reduce op=sum via=shfl+smem
//@ sync count=1
//@ grid_reduce op=sum via=atomic
extern "C" __global__ void dot_block_atomic(
    const float* __restrict__ a, const float* __restrict__ b, float* o, int n) {
  __shared__ float partial[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    sum += a[i] * b[i];
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if ((threadIdx.x & 31) == 0) {
    partial[threadIdx.x >> 5] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < (blockDim.x >> 5) ? partial[threadIdx.x] : 0.f;
    for (int offset = 16; offset > 0; offset >>= 1) {
      sum += __shfl_xor_sync(all_lanes, sum, offset);
    }
    if (threadIdx.x == 0) {
      atomicAdd(o, sum);
    }
  }
}

// Computes a dot product of packed 8-bit integers with the four-way dot instruction.
//@ thread_reduce op=sum_of_products dtype=s8 axis=loop
//@ fma_chain loop=yes kind=accumulate dtype=s32 insn=IDP
//@ warp_reduce op=sum dtype=s32 width=32 steps=5 dir=xor
extern "C" __global__ void dot_dp4a(
    const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ o, int n4) {
  int lane = threadIdx.x & 31;
  int sum = 0;
  for (int i = lane; i < n4; i += 32) {
    sum = __dp4a(a[i], b[i], sum);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    o[0] = sum;
  }
}

// Computes a dot product with 16-byte loads and four independent accumulators.
//@ thread_reduce op=sum_of_products dtype=f32 axis=loop accumulators=4
//@ fma_chain loop=yes kind=accumulate chains=4
//@ vec load=16
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
extern "C" __global__ void dot_f4(
    const float4* __restrict__ a, const float4* __restrict__ b, float* __restrict__ o, int n4) {
  int lane = threadIdx.x & 31;
  float sum0 = 0;
  float sum1 = 0;
  float sum2 = 0;
  float sum3 = 0;
  for (int i = lane; i < n4; i += 32) {
    float4 p = a[i];
    float4 q = b[i];
    sum0 += p.x * q.x;
    sum1 += p.y * q.y;
    sum2 += p.z * q.z;
    sum3 += p.w * q.w;
  }
  float sum = (sum0 + sum1) + (sum2 + sum3);
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    o[blockIdx.x] = sum;
  }
}
