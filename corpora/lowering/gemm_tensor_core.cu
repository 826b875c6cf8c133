// Matrix products on tensor cores.

#include <cuda_fp16.h>
#include <mma.h>

// Computes one 16x16 tile of C = A * B per warp, halves in and 32-bit floating point out.
//@ mma_accumulate shape=m16n16k16 in=f16 acc=f32
//@ thread_reduce op=sum_of_products axis=loop
//@ mma_accumulate loop=yes
extern "C" __global__ void gemm_wmma(
    const __half* __restrict__ A,
    const __half* __restrict__ B,
    float* __restrict__ C,
    int M,
    int N,
    int K) {
  using namespace nvcuda;
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int tiles_n = N / 16;
  int r = (warp / tiles_n) * 16;
  int c = (warp % tiles_n) * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.f);
  for (int k = 0; k < K; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::load_matrix_sync(a, A + (size_t)r * K + k, K);
    wmma::load_matrix_sync(b, B + (size_t)k * N + c, N);
    wmma::mma_sync(acc, a, b, acc);
  }
  wmma::store_matrix_sync(C + (size_t)r * N + c, acc, N, wmma::mem_row_major);
}
