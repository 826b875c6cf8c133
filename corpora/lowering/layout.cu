// Layout changes: transposes, copies and permutations that only move data.

// Transposes directly through global memory, one element per thread.
//@ transpose via=global
extern "C" __global__ void tr_naive(
    const float* __restrict__ x, float* __restrict__ y, int R, int C) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < R && c < C) {
    y[(size_t)c * R + r] = x[(size_t)r * C + c];
  }
}

// Transposes through a 32x32 shared tile, with bank conflicts.
//@ transpose via=shared bank_conflict=yes
//@ sync count=1
//@ roundtrip space=shared sync=barrier same_thread=no what=tile survives=yes
extern "C" __global__ void tr_shared(
    const float* __restrict__ x, float* __restrict__ y, int R, int C) {
  __shared__ float tile[32][32];
  int c = blockIdx.x * 32 + threadIdx.x;
  int r = blockIdx.y * 32 + threadIdx.y;
  if (r < R && c < C) {
    tile[threadIdx.y][threadIdx.x] = x[(size_t)r * C + c];
  }
  __syncthreads();
  int out_r = blockIdx.y * 32 + threadIdx.x;
  int out_c = blockIdx.x * 32 + threadIdx.y;
  if (out_r < R && out_c < C) {
    y[(size_t)out_c * R + out_r] = tile[threadIdx.x][threadIdx.y];
  }
}

// Transposes through a shared tile whose rows are padded by one to avoid bank conflicts.
//@ transpose via=shared bank_conflict=no pad=1
//@ sync count=1
//@ roundtrip space=shared sync=barrier same_thread=no what=tile survives=yes
extern "C" __global__ void tr_padded(
    const float* __restrict__ x, float* __restrict__ y, int R, int C) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x;
  int r = blockIdx.y * 32 + threadIdx.y;
  if (r < R && c < C) {
    tile[threadIdx.y][threadIdx.x] = x[(size_t)r * C + c];
  }
  __syncthreads();
  int out_r = blockIdx.y * 32 + threadIdx.x;
  int out_c = blockIdx.x * 32 + threadIdx.y;
  if (out_r < R && out_c < C) {
    y[(size_t)out_c * R + out_r] = tile[threadIdx.x][threadIdx.y];
  }
}

// Transposes through a padded tile, four rows per thread, and applies ReLU on the way out.
//@ transpose via=shared bank_conflict=no pad=1 loop=8rows
//@ sync count=1
//@ elementwise f=relu stage=fused_consumer
//@ roundtrip space=shared sync=barrier same_thread=no what=tile survives=yes
extern "C" __global__ void tr_padded_relu(
    const float* __restrict__ x, float* __restrict__ y, int R, int C) {
  __shared__ float tile[32][33];
  #pragma unroll
  for (int j = 0; j < 32; j += 8) {
    tile[threadIdx.y + j][threadIdx.x] =
        x[(size_t)(blockIdx.y * 32 + threadIdx.y + j) * C + blockIdx.x * 32 + threadIdx.x];
  }
  __syncthreads();
  #pragma unroll
  for (int j = 0; j < 32; j += 8) {
    y[(size_t)(blockIdx.x * 32 + threadIdx.y + j) * R + blockIdx.y * 32 + threadIdx.x] =
        fmaxf(tile[threadIdx.x][threadIdx.y + j], 0.f);
  }
}

// Copies through shared memory, where each thread reads back its own element.
//@ elementwise f=copy via=shared
//@ copy via=shared
//@ roundtrip space=shared sync=barrier same_thread=yes what=tile survives=yes
//@ sync count=1
extern "C" __global__ void copy_shared(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float tile[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  tile[threadIdx.x] = x[i];
  __syncthreads();
  y[i] = tile[threadIdx.x];
}

// Moves the channels from before the pixels (NCHW) to after them (NHWC).
//@ permute form=NCHW_to_NHWC
extern "C" __global__ void nchw2nhwc(
    const float* __restrict__ x, float* __restrict__ y, int C, int HW) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  int c = blockIdx.y;
  int n = blockIdx.z;
  if (p < HW) {
    y[((size_t)n * HW + p) * C + c] = x[((size_t)n * C + c) * HW + p];
  }
}

// Reverses a vector.
//@ permute form=reverse axis=0
extern "C" __global__ void reverse1d(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[n - 1 - i];
  }
}
