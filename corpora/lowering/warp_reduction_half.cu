// Warp reductions in half precision, on pairs of elements.

#include <cuda_fp16.h>

constexpr unsigned all_lanes = 0xffffffffu;

// Sums pairs of halves over a warp with a butterfly.
//@ warp_reduce op=sum dtype=f16x2 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_hsum2_xor(const __half2* __restrict__ x, __half2* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 sum = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum = __hadd2(sum, __shfl_xor_sync(all_lanes, sum, offset));
  }
  y[i] = sum;
}

// Finds the maximum of pairs of halves over a warp with a butterfly.
//@ warp_reduce op=max dtype=f16x2 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_hmax2_xor(const __half2* __restrict__ x, __half2* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __half2 maximum = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = __hmax2(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  y[i] = maximum;
}
