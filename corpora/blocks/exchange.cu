// A block loads and stores neighbouring elements together and computes four elements a thread in their order.
extern "C" __global__ void momentum_exchange(float* p, const float* g, float* m, float beta, float rate) {
  __shared__ float tile[1024];
  int t = threadIdx.x, first = blockIdx.x * 1024;
  float a[4], b[4], c[4];
#pragma unroll
  for (int k = 0; k < 4; k++) tile[t + 256 * k] = p[first + t + 256 * k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) a[k] = tile[4 * t + k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) tile[t + 256 * k] = g[first + t + 256 * k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) b[k] = tile[4 * t + k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) tile[t + 256 * k] = m[first + t + 256 * k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) {
    c[k] = beta * tile[4 * t + k] + b[k];
    a[k] -= rate * c[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) tile[4 * t + k] = a[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) p[first + t + 256 * k] = tile[t + 256 * k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) tile[4 * t + k] = c[k];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; k++) m[first + t + 256 * k] = tile[t + 256 * k];
}

// The same way there and back, but each thread adds its element and its neighbour's.
extern "C" __global__ void pairs_exchange(float* y, const float* x) {
  __shared__ float tile[256];
  int t = threadIdx.x, first = blockIdx.x * 256;
  tile[t] = x[first + t];
  __syncthreads();
  float a = tile[t] * tile[t ^ 1];
  __syncthreads();
  tile[t] = a;
  __syncthreads();
  y[first + t] = 2.0f * tile[t];
}

// The largest of a window: it leaves the loop that loads.
extern "C" __global__ void window_max(float* y, const float* x, int width, int step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = -1e30f;
#pragma unroll 1
  for (int k = 0; k < width; k++) {
    float v = x[i * step + k];
    if (v > best) best = v;
  }
  y[i] = best;
}
