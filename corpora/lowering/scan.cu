// Scans (inclusive prefix sums) over a warp and over a block.

constexpr unsigned all_lanes = 0xffffffffu;

// Scans a warp with an upward shuffle ladder.
//@ scan op=sum scope=warp kind=inclusive dir=up steps=5
extern "C" __global__ void scan_warp(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  float sum = x[i];
  for (int offset = 1; offset < 32; offset <<= 1) {
    float below = __shfl_up_sync(all_lanes, sum, offset);
    if (lane >= offset) {
      sum += below;
    }
  }
  y[i] = sum;
}

// Scans a block: each warp scans its part, warp 0 scans the warps' sums, and all add them in.
//@ scan op=sum scope=block kind=inclusive
//@ sync count=2
//@ broadcast of=scan_partial via=shared
extern "C" __global__ void scan_block(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float partial[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  int warp = threadIdx.x >> 5;
  float sum = x[i];
  for (int offset = 1; offset < 32; offset <<= 1) {
    float below = __shfl_up_sync(all_lanes, sum, offset);
    if (lane >= offset) {
      sum += below;
    }
  }
  if (lane == 31) {
    partial[warp] = sum;
  }
  __syncthreads();
  if (warp == 0) {
    float warp_sum = partial[lane];
    for (int offset = 1; offset < 32; offset <<= 1) {
      float below = __shfl_up_sync(all_lanes, warp_sum, offset);
      if (lane >= offset) {
        warp_sum += below;
      }
    }
    partial[lane] = warp_sum;
  }
  __syncthreads();
  if (warp) {
    sum += partial[warp - 1];
  }
  y[i] = sum;
}

// Scans a block in shared memory with the Hillis-Steele method.
//@ scan op=sum scope=block kind=inclusive via=smem_hillis_steele
//@ sync count=1+2 in_loop=yes
extern "C" __global__ void scan_hs_smem(const float* __restrict__ x, float* __restrict__ y) {
  extern __shared__ float values[];
  int t = threadIdx.x;
  values[t] = x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int offset = 1; offset < (int)blockDim.x; offset <<= 1) {
    float below = t >= offset ? values[t - offset] : 0.f;
    __syncthreads();
    values[t] += below;
    __syncthreads();
  }
  y[blockIdx.x * blockDim.x + t] = values[t];
}
