// Dot products in half precision.

#include <cuda_fp16.h>

constexpr unsigned all_lanes = 0xffffffffu;

// Computes one dot product per block of one warp: accumulates pairs of halves, then reduces in
// 32-bit floating point.
//@ thread_reduce op=sum_of_products dtype=f16x2 axis=loop
//@ fma_chain loop=yes kind=accumulate dtype=f16x2
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ convert from=f16 to=f32
extern "C" __global__ void dot_half2(
    const __half2* __restrict__ a, const __half2* __restrict__ b, float* __restrict__ o, int n2) {
  int lane = threadIdx.x & 31;
  const __half2* a_row = a + (size_t)blockIdx.x * n2;
  const __half2* b_row = b + (size_t)blockIdx.x * n2;
  __half2 pair = __float2half2_rn(0.f);
  for (int i = lane; i < n2; i += 32) {
    pair = __hfma2(a_row[i], b_row[i], pair);
  }
  float sum = __low2float(pair) + __high2float(pair);
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    o[blockIdx.x] = sum;
  }
}
