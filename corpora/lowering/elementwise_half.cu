// Elementwise maps in half precision (float16 and bfloat16), on packed elements.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

// Computes y = a * x + b on pairs of halves.
//@ elementwise f=affine dtype=half2 vec=2
//@ affine form=scalar_ab
//@ vec load=4 store=4
extern "C" __global__ void ewh_axpb(
    const __half2* __restrict__ x, __half2* __restrict__ y, __half2 a, __half2 b, int n2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n2) {
    y[i] = __hfma2(a, x[i], b);
  }
}

// Computes ReLU on pairs of halves.
//@ elementwise f=relu dtype=half2 vec=2
//@ vec load=4 store=4
extern "C" __global__ void ewh_relu(
    const __half2* __restrict__ x, __half2* __restrict__ y, int n2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n2) {
    y[i] = __hmax2(x[i], __float2half2_rn(0.f));
  }
}

// Multiplies eight halves per thread by a scalar, in 32-bit floating point.
//@ elementwise f=scale dtype=half_mixed vec=8
//@ vec load=16 store=16
//@ convert from=f16 to=f32
extern "C" __global__ void ewh_scale_mixed8(
    const uint4* __restrict__ x, uint4* __restrict__ y, float a, int n8) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n8) {
    return;
  }
  uint4 v = x[i];
  __half2* h = reinterpret_cast<__half2*>(&v);
  #pragma unroll
  for (int k = 0; k < 4; k++) {
    float2 f = __half22float2(h[k]);
    f.x *= a;
    f.y *= a;
    h[k] = __float22half2_rn(f);
  }
  y[i] = v;
}

// Computes ReLU on pairs of bfloat16 values.
//@ elementwise f=relu dtype=bf162 vec=2
//@ vec load=4 store=4
extern "C" __global__ void ewh_relu_bf16(
    const __nv_bfloat162* __restrict__ x, __nv_bfloat162* __restrict__ y, int n2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n2) {
    y[i] = __hmax2(x[i], __float2bfloat162_rn(0.f));
  }
}
