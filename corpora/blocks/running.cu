// Scans that no shuffle tells of, and what only looks like one.

// Sums of bytes down a column: each is stored, and is the start of the next.
extern "C" __global__ void column_sums(const signed char* __restrict__ x, signed char* y, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns) {
    signed char sum = 0;
    for (int r = 0; r < rows; ++r) {
      sum += x[(long)r * columns + c];
      y[(long)r * columns + c] = sum;
    }
  }
}

// The largest value so far, and where it was; a NaN stays.
extern "C" __global__ void column_peaks(const unsigned short* __restrict__ x, unsigned short* y, long* where, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns) {
    unsigned short peak = x[c];
    long at = 0;
    for (int r = 0; r < rows; ++r) {
      unsigned short bits = x[(long)r * columns + c];
      float v = __int_as_float((int)bits << 16);
      float p = __int_as_float((int)peak << 16);
      if (v != v || (p == p && v >= p)) {
        peak = bits;
        at = r;
      }
      y[(long)r * columns + c] = peak;
      where[(long)r * columns + c] = at;
    }
  }
}

// Products of complex numbers along a row: in each step the upper half of each segment takes in the end of the lower half.
extern "C" __global__ void sweep_products(const float2* __restrict__ x, float2* y, int n) {
  extern __shared__ float2 row[];
  int t = threadIdx.x;
  row[t] = x[blockIdx.x * n + t];
  row[t + blockDim.x] = x[blockIdx.x * n + t + blockDim.x];
  __syncthreads();
  for (int m = 0; (1 << m) <= blockDim.x; ++m) {
    int first = (t >> m) << (m + 1) | (1 << m);
    int into = first + (t & ((1 << m) - 1));
    float2 a = row[first - 1];
    float2 b = row[into];
    row[into] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    __syncthreads();
  }
  y[blockIdx.x * n + t] = row[t];
  y[blockIdx.x * n + t + blockDim.x] = row[t + blockDim.x];
}

// The same steps for the largest value and its place.
extern "C" __global__ void sweep_peaks(const float* __restrict__ x, float* y, int* where, int n) {
  __shared__ float row[512];
  __shared__ int place[512];
  int t = threadIdx.x;
  row[t] = x[blockIdx.x * n + t];
  place[t] = t;
  row[t + 256] = x[blockIdx.x * n + t + 256];
  place[t + 256] = t + 256;
  __syncthreads();
#pragma unroll 1
  for (int d = 1; d <= 256; d <<= 1) {
    int a = t / d * 2 * d + d;
    int b = a + t % d;
    if (row[b] < row[a - 1]) {
      row[b] = row[a - 1];
      place[b] = place[a - 1];
    }
    __syncthreads();
  }
  y[blockIdx.x * n + t] = row[t];
  where[blockIdx.x * n + t] = place[t];
  y[blockIdx.x * n + t + 256] = row[t + 256];
  where[blockIdx.x * n + t + 256] = place[t + 256];
}

// No scan: a tree of sums at growing distances, and each element over its sum.
extern "C" __global__ void tree_share(const float* __restrict__ x, float* y) {
  __shared__ float row[256];
  int t = threadIdx.x;
  float v = x[blockIdx.x * 256 + t];
  row[t] = v;
  __syncthreads();
  for (int d = 1; d < blockDim.x; d <<= 1) {
    int i = 2 * d * t;
    if (i + d < blockDim.x) {
      row[i] += row[i + d];
    }
    __syncthreads();
  }
  y[blockIdx.x * 256 + t] = v * row[0];
}
