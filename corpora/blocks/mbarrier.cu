// Warp 0 fills a tile and arrives on an mbarrier; all threads wait for the phase to end.
extern "C" __global__ void mbarrier_tile(const float* x, float* y) {
  __shared__ unsigned long long bar;
  __shared__ float tile[256];
  unsigned b = (unsigned)__cvta_generic_to_shared(&bar);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" :: "r"(b) : "memory");
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = threadIdx.x; i < 256; i += 32) tile[i] = x[blockIdx.x * 256 + i];
    unsigned long long state;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(b) : "memory");
  }
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(b) : "memory");
  y[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}
