// Gathers and scatters: the address of a load or store depends on loaded data.

// Gathers one row of an embedding table per block, by token.
//@ gather index=token axis=row
//@ vec load=16 store=16
extern "C" __global__ void embed_gather(
    const float4* __restrict__ E, const int* __restrict__ tok, float4* __restrict__ y, int D4) {
  int t = tok[blockIdx.x];
  for (int d = threadIdx.x; d < D4; d += blockDim.x) {
    y[(size_t)blockIdx.x * D4 + d] = E[(size_t)t * D4 + d];
  }
}

// Adds one row of gradients per block to the embedding table, by token and with atomics.
//@ scatter via=atomic space=global op=sum index=data
extern "C" __global__ void embed_scatter_add(
    const float* __restrict__ dy, const int* __restrict__ tok, float* dE, int D) {
  int t = tok[blockIdx.x];
  for (int d = threadIdx.x; d < D; d += blockDim.x) {
    atomicAdd(&dE[(size_t)t * D + d], dy[(size_t)blockIdx.x * D + d]);
  }
}

// Scatters elements to the places that a permutation names.
//@ scatter via=store space=global index=data
extern "C" __global__ void scatter_perm(
    const float* __restrict__ x, const int* __restrict__ p, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[p[i]] = x[i];
  }
}
