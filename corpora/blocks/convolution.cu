// Windows whose size is a parameter: the compiler keeps their loops.

// Depthwise, padded: a tap outside of the image takes no part.
extern "C" __global__ void depthwise_padded(const float* x, const float* w, float* y, int height, int width,
                                            int taps, int stride, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.z;
  int oh = (height + 2 * pad - taps) / stride + 1, ow = (width + 2 * pad - taps) / stride + 1;
  if (i >= oh * ow) return;
  float sum = 0.0f;
  for (int r = 0; r < taps; r++) {
    for (int s = 0; s < taps; s++) {
      int h = i / ow * stride - pad + r, v = i % ow * stride - pad + s;
      if (h >= 0 && h < height && v >= 0 && v < width)
        sum += x[(channel * height + h) * width + v] * w[(channel * taps + r) * taps + s];
    }
  }
  y[channel * oh * ow + i] = sum;
}

// No padding: three loops over channels, rows and columns.
extern "C" __global__ void direct_valid(const float* x, const float* w, float* y, int channels, int height,
                                        int width, int taps) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y, k = blockIdx.z;
  int oh = height - taps + 1, ow = width - taps + 1;
  if (c >= ow) return;
  float sum = 0.0f;
  for (int n = 0; n < channels; n++)
    for (int p = 0; p < taps; p++)
      for (int q = 0; q < taps; q++)
        sum += x[(n * height + r + p) * width + c + q] * w[((k * channels + n) * taps + p) * taps + q];
  y[(k * oh + r) * ow + c] = sum;
}

// The mean of a padded window: nothing is weighted.
extern "C" __global__ void mean_padded(const float* x, float* y, int height, int width, int taps, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.z;
  int oh = height + 2 * pad - taps + 1, ow = width + 2 * pad - taps + 1;
  if (i >= oh * ow) return;
  float sum = 0.0f;
  for (int r = 0; r < taps; r++) {
    for (int s = 0; s < taps; s++) {
      int h = i / ow - pad + r, v = i % ow - pad + s;
      if (h >= 0 && h < height && v >= 0 && v < width) sum += x[(channel * height + h) * width + v];
    }
  }
  y[channel * oh * ow + i] = sum / (taps * taps);
}
