// Stencils: several loads at fixed offsets from the thread's own element.

// Smooths a vector with the weights 1/4, 1/2, 1/4.
//@ stencil taps=3
extern "C" __global__ void stencil3(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) {
    y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
  }
}
