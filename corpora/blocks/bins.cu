// Histograms beyond one atomic increment at a loaded place, and what only looks like one.

// Bins of numbers: scaled and cut to an integer; weights are added.
extern "C" __global__ void bins_weighted(const float* __restrict__ x, const float* __restrict__ w, float* h, float lo, float scale, int bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int b = (int)((x[i] - lo) * scale);
    if (b >= 0 && b < bins) {
      atomicAdd(&h[b], w[i]);
    }
  }
}

// Bins of any widths: a binary search among their edges.
extern "C" __global__ void bins_searched(const float* __restrict__ x, const float* __restrict__ edges, int* h, int bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    int first = 0;
    int left = bins;
    while (left > 0) {
      int half = left >> 1;
      bool right = !(v < edges[first + half]);
      first = right ? first + half + 1 : first;
      left = right ? left - half - 1 : half;
    }
    atomicAdd(&h[first], 1);
  }
}

// 64-bit counters in shared memory: no such atomic addition, so the compiler compares and swaps.
extern "C" __global__ void bins_wide(const unsigned char* __restrict__ x, unsigned long long* h, int n) {
  __shared__ unsigned long long bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[x[i]], 1ull);
  }
  __syncthreads();
  atomicAdd(&h[threadIdx.x], bins[threadIdx.x]);
}

// Equal neighbours are counted before they are added.
extern "C" __global__ void bins_runs(const int4* __restrict__ x, int* h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int4 v = x[i];
    int count = 1;
    if (v.x != v.y) {
      atomicAdd(&h[v.x], count);
      count = 0;
    }
    ++count;
    if (v.y != v.z) {
      atomicAdd(&h[v.y], count);
      count = 0;
    }
    ++count;
    if (v.z != v.w) {
      atomicAdd(&h[v.z], count);
      count = 0;
    }
    atomicAdd(&h[v.w], count + 1);
  }
}

// No histogram: the gradient of a linear interpolation is spread over two neighbours.
extern "C" __global__ void spread(const float* __restrict__ at, const float* __restrict__ grad, float* out, float scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float p = at[i] * scale;
    int k = (int)p;
    float f = p - (float)k;
    atomicAdd(&out[k], grad[i] * (1.0f - f));
    atomicAdd(&out[k + 1], grad[i] * f);
  }
}
