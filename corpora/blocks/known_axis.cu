// A sum over an axis of a length that the compiler knows, and sums of several arrays.
#include <cuda_bf16.h>

extern "C" __global__ void sum_of_four(const float* x, float* y, int width) {
  for (long i = threadIdx.x; i < width; i += blockDim.x) {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; k++) sum += x[(blockIdx.x * 4l + k) * width + i];
    y[(long)blockIdx.x * width + i] = sum;
  }
}

extern "C" __global__ void rounded_sum_of_four(const __nv_bfloat16* x, __nv_bfloat16* y, int width) {
  for (long i = threadIdx.x; i < width; i += blockDim.x) {
    __nv_bfloat16 sum = __float2bfloat16(0.0f);
#pragma unroll
    for (int k = 0; k < 4; k++)
      sum = __float2bfloat16(__bfloat162float(sum) + __bfloat162float(x[(blockIdx.x * 4l + k) * width + i]));
    y[(long)blockIdx.x * width + i] = sum;
  }
}

extern "C" __global__ void sum_of_arrays(const float* a, const float* b, const float* c, const float* d, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a[i] + b[i] + c[i] + d[i];
}
