// Matrix products in 32-bit floating point: naive, tiled, register-blocked and pipelined.

constexpr unsigned all_lanes = 0xffffffffu;

// Computes one element of C = A * B per thread, directly from global memory.
//@ thread_reduce op=sum_of_products axis=loop
//@ fma_chain loop=yes kind=accumulate
//@ reload_across_threads arrays=A,B
extern "C" __global__ void gemm_naive(
    const float* __restrict__ A,
    const float* __restrict__ B,
    float* __restrict__ C,
    int M,
    int N,
    int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= M || c >= N) {
    return;
  }
  float sum = 0;
  for (int k = 0; k < K; k++) {
    sum += A[r * K + k] * B[k * N + c];
  }
  C[r * N + c] = sum;
}

// Computes C = A * B from 16x16 tiles in shared memory, padded with zeros at the edges.
//@ thread_reduce op=sum_of_products axis=loop+tile16
//@ fma_chain loop=yes kind=accumulate len=16
//@ tile_reuse space=shared arrays=A,B
//@ sync count=2 in_loop=yes
extern "C" __global__ void gemm_tiled16(
    const float* __restrict__ A,
    const float* __restrict__ B,
    float* __restrict__ C,
    int M,
    int N,
    int K) {
  __shared__ float a_tile[16][16];
  __shared__ float b_tile[16][16];
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int r = blockIdx.y * 16 + ty;
  int c = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += 16) {
    a_tile[ty][tx] = (r < M && k0 + tx < K) ? A[r * K + k0 + tx] : 0.f;
    b_tile[ty][tx] = (k0 + ty < K && c < N) ? B[(k0 + ty) * N + c] : 0.f;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 16; k++) {
      sum += a_tile[ty][k] * b_tile[k][tx];
    }
    __syncthreads();
  }
  if (r < M && c < N) {
    C[r * N + c] = sum;
  }
}

// Computes relu(A * B + bias) from 16x16 tiles, with the bias and ReLU fused into the epilogue.
//@ thread_reduce op=sum_of_products axis=loop+tile16
//@ fma_chain loop=yes kind=accumulate len=16
//@ tile_reuse space=shared arrays=A,B
//@ sync count=2 in_loop=yes
//@ elementwise f=bias_relu stage=epilogue
//@ broadcast of=input via=global axis=col
extern "C" __global__ void gemm_tiled16_bias_relu(
    const float* __restrict__ A,
    const float* __restrict__ B,
    const float* __restrict__ bias,
    float* __restrict__ C,
    int M,
    int N,
    int K) {
  __shared__ float a_tile[16][16];
  __shared__ float b_tile[16][16];
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int r = blockIdx.y * 16 + ty;
  int c = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int k0 = 0; k0 < K; k0 += 16) {
    a_tile[ty][tx] = (r < M && k0 + tx < K) ? A[r * K + k0 + tx] : 0.f;
    b_tile[ty][tx] = (k0 + ty < K && c < N) ? B[(k0 + ty) * N + c] : 0.f;
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 16; k++) {
      sum += a_tile[ty][k] * b_tile[k][tx];
    }
    __syncthreads();
  }
  if (r < M && c < N) {
    C[r * N + c] = fmaxf(sum + bias[c], 0.f);
  }
}

// Computes C = alpha * A * B + beta * C with a 4x4 outer product in the registers of each thread.
//@ thread_reduce op=sum_of_products axis=loop+tile8 accumulators=16
//@ fma_chain loop=yes kind=accumulate chains=16 len=8
//@ tile_reuse space=shared arrays=A,B
//@ reuse value=a,b kind=register outer_product=4x4
//@ sync count=2 in_loop=yes
//@ affine form=alpha_beta stage=epilogue
extern "C" __global__ void gemm_reg4x4(
    const float* __restrict__ A,
    const float* __restrict__ B,
    float* __restrict__ C,
    int M,
    int N,
    int K,
    float alpha,
    float beta) {
  __shared__ float a_tile[8][64];
  __shared__ float b_tile[8][64];
  int t = threadIdx.x;
  int tx = t & 15;
  int ty = t >> 4;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < K; k0 += 8) {
    for (int e = t; e < 512; e += 256) {
      int k = e >> 6;
      int i = e & 63;
      a_tile[k][i] = A[(blockIdx.y * 64 + i) * K + k0 + k];
      b_tile[k][i] = B[(k0 + k) * N + blockIdx.x * 64 + i];
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 8; k++) {
      float a[4];
      float b[4];
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        a[i] = a_tile[k][ty * 4 + i];
        b[i] = b_tile[k][tx * 4 + i];
      }
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
          sum[i][j] += a[i] * b[j];
        }
      }
    }
    __syncthreads();
  }
  #pragma unroll
  for (int i = 0; i < 4; i++) {
    #pragma unroll
    for (int j = 0; j < 4; j++) {
      size_t o = (size_t)(blockIdx.y * 64 + ty * 4 + i) * N + blockIdx.x * 64 + tx * 4 + j;
      C[o] = alpha * sum[i][j] + beta * C[o];
    }
  }
}

// Computes silu(W * x + b), a matrix-vector product with one warp per row.
//@ thread_reduce op=sum_of_products axis=loop
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ fma_chain loop=yes kind=accumulate
//@ elementwise f=bias_silu stage=epilogue
extern "C" __global__ void gemv_warp_bias_silu(
    const float* __restrict__ W,
    const float* __restrict__ x,
    const float* __restrict__ b,
    float* __restrict__ y,
    int K) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  float sum = 0;
  for (int k = lane; k < K; k += 32) {
    sum += W[(size_t)r * K + k] * x[k];
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    sum += b[r];
    y[r] = __fdividef(sum, 1.f + __expf(-sum));
  }
}

#if __CUDA_ARCH__ >= 800
// Computes C = A * B from two stages of 16x16 tiles, filled by asynchronous copies.
//@ minarch 80
//@ tile_reuse space=shared arrays=A,B
//@ async_copy kind=LDGSTS stages=2
//@ thread_reduce op=sum_of_products axis=loop+tile16
//@ fma_chain loop=yes kind=accumulate len=16
//@ sync count=2 in_loop=yes
extern "C" __global__ void gemm_cpasync(
    const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int N, int K) {
  __shared__ float a_tile[2][16][16];
  __shared__ float b_tile[2][16][16];
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int r = blockIdx.y * 16 + ty;
  int c = blockIdx.x * 16 + tx;
  float sum = 0;
  int stage = 0;
  auto copy = [&](int s, int k0) {
    unsigned a_shared = (unsigned)__cvta_generic_to_shared(&a_tile[s][ty][tx]);
    unsigned b_shared = (unsigned)__cvta_generic_to_shared(&b_tile[s][ty][tx]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(a_shared),
                 "l"(A + (size_t)r * K + k0 + tx)
                 : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(b_shared),
                 "l"(B + (size_t)(k0 + ty) * N + c)
                 : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  copy(0, 0);
  for (int k0 = 0; k0 < K; k0 += 16) {
    if (k0 + 16 < K) {
      copy(stage ^ 1, k0 + 16);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 16; k++) {
      sum += a_tile[stage][ty][k] * b_tile[stage][k][tx];
    }
    __syncthreads();
    stage ^= 1;
  }
  C[r * N + c] = sum;
}
#endif
