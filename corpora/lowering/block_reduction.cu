// Block reductions: shared-memory trees, shuffles plus shared memory, and barrier reductions.

constexpr unsigned all_lanes = 0xffffffffu;
constexpr float lowest = -3.402823466e38f;

// Sums a block with a shared-memory tree whose size is known only at run time.
//@ block_reduce op=sum via=smem_tree blocksize=runtime
//@ sync count=2 in_loop=yes
extern "C" __global__ void br_sum_tree(const float* __restrict__ x, float* __restrict__ y) {
  extern __shared__ float values[];
  int t = threadIdx.x;
  values[t] = x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int stride = blockDim.x >> 1; stride > 0; stride >>= 1) {
    if (t < stride) {
      values[t] += values[t + stride];
    }
    __syncthreads();
  }
  if (t == 0) {
    y[blockIdx.x] = values[0];
  }
}

// Sums a block of 256 threads with an unrolled shared-memory tree.
//@ block_reduce op=sum via=smem_tree blocksize=256
//@ sync count=9
extern "C" __global__ void br_sum_tree256(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float values[256];
  int t = threadIdx.x;
  values[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  #pragma unroll
  for (int stride = 128; stride > 0; stride >>= 1) {
    if (t < stride) {
      values[t] += values[t + stride];
    }
    __syncthreads();
  }
  if (t == 0) {
    y[blockIdx.x] = values[0];
  }
}

// Sums a block with one shuffle ladder per warp and a second one over the warps' partial sums.
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=down
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=down
//@ block_reduce op=sum via=shfl+smem
//@ sync count=1
extern "C" __global__ void br_sum_warp(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float partial[32];
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  float sum = x[blockIdx.x * blockDim.x + t];
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    partial[warp] = sum;
  }
  __syncthreads();
  if (warp == 0) {
    sum = lane < (blockDim.x >> 5) ? partial[lane] : 0.f;
    for (int offset = 16; offset > 0; offset >>= 1) {
      sum += __shfl_down_sync(all_lanes, sum, offset);
    }
    if (lane == 0) {
      y[blockIdx.x] = sum;
    }
  }
}

// Subtracts the row maximum from each row, with one block per row.
//@ thread_reduce op=max dtype=f32 axis=loop
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor
//@ block_reduce op=max via=shfl+smem
//@ broadcast of=reduction via=butterfly
//@ sync count=1
extern "C" __global__ void br_max_row_sub(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float partial[32];
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  const float* row = x + (size_t)blockIdx.x * n;
  float maximum = lowest;
  for (int i = t; i < n; i += blockDim.x) {
    maximum = fmaxf(maximum, row[i]);
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
  for (int i = t; i < n; i += blockDim.x) {
    y[(size_t)blockIdx.x * n + i] = row[i] - maximum;
  }
}

// Divides each element by the block's sum, whose second stage is a serial loop in thread 0.
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=down
//@ block_reduce op=sum via=shfl+smem second_stage=serial_thread0
//@ thread_reduce op=sum axis=smem_loop
//@ broadcast of=reduction via=shared
//@ sync count=2
extern "C" __global__ void br_sum_serial2(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float partial[32];
  __shared__ float total;
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  int i = blockIdx.x * blockDim.x + t;
  float v = x[i];
  float sum = v;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    partial[warp] = sum;
  }
  __syncthreads();
  if (t == 0) {
    float accumulator = 0;
    for (int k = 0; k < (int)(blockDim.x >> 5); k++) {
      accumulator += partial[k];
    }
    total = accumulator;
  }
  __syncthreads();
  y[i] = v / total;
}

// Tells whether any element of the block exceeds a threshold, with a barrier reduction.
//@ block_reduce op=or via=bar_red
//@ sync count=1
extern "C" __global__ void br_any(const float* __restrict__ x, int* __restrict__ y, float th) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int any = __syncthreads_or(x[i] > th);
  if (threadIdx.x == 0) {
    y[blockIdx.x] = any;
  }
}

// Counts the elements of the block that exceed a threshold, with a barrier reduction.
//@ block_reduce op=sum form=count via=bar_red
//@ sync count=1
extern "C" __global__ void br_count(const float* __restrict__ x, int* __restrict__ y, float th) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = __syncthreads_count(x[i] > th);
  if (threadIdx.x == 0) {
    y[blockIdx.x] = count;
  }
}
