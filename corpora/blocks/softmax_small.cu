// Softmax where one instruction or one step is all there is of a part of it.

// A thread a row, in double precision: no instruction has the exponential.
extern "C" __global__ void softmax_double(const double* __restrict__ x, double* y, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns) {
    double peak = x[c];
    for (int r = 1; r < rows; ++r) {
      double v = x[(long)r * columns + c];
      peak = v > peak ? v : peak;
    }
    double sum = 0;
    for (int r = 0; r < rows; ++r) {
      sum += exp(x[(long)r * columns + c] - peak);
    }
    for (int r = 0; r < rows; ++r) {
      y[(long)r * columns + c] = exp(x[(long)r * columns + c] - peak) / sum;
    }
  }
}

// Two lanes a row: one step for the maximum, one for the sum.
extern "C" __global__ void softmax_pairs(const float* __restrict__ x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  float peak = fmaxf(v, __shfl_xor_sync(~0u, v, 1));
  float e = __expf(v - peak);
  y[i] = e / (e + __shfl_xor_sync(~0u, e, 1));
}

// No softmax: both of one pair of lanes, and a decay.
extern "C" __global__ void range_pairs(const float* __restrict__ x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  float peak = fmaxf(v, __shfl_xor_sync(~0u, v, 1));
  float sum = v + __shfl_xor_sync(~0u, v, 1);
  y[i] = sum * __expf(-peak);
}
