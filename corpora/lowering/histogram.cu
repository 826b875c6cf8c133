// Histograms of bytes into 256 bins, with atomic increments.

// Counts directly in global memory.
//@ scatter via=atomic space=global op=sum index=data
//@ histogram
extern "C" __global__ void hist_global(const unsigned char* __restrict__ x, unsigned* h, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&h[x[i]], 1u);
  }
}

// Counts in shared memory per block and adds the block's bins to the global ones.
//@ scatter via=atomic space=shared op=sum index=data
//@ histogram
//@ grid_reduce op=sum via=atomic per=bin dtype=u32
//@ sync count=2
extern "C" __global__ void hist_shared(const unsigned char* __restrict__ x, unsigned* h, int n) {
  __shared__ unsigned bins[256];
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    bins[b] = 0;
  }
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[x[i]], 1u);
  }
  __syncthreads();
  for (int b = threadIdx.x; b < 256; b += blockDim.x) {
    atomicAdd(&h[b], bins[b]);
  }
}
