// Round trips: a value is stored and loaded again in the same kernel. Which of them does the
// compiler keep? `survives=` answers for the load.

// Stores T and reads it back in the same thread, with nothing between.
//@ elementwise f=two_stage vec=1
//@ roundtrip space=global array=T sync=none same_thread=yes survives=no observed=yes
extern "C" __global__ void rt_same_addr(const float* __restrict__ x, float* T, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    T[i] = x[i] * 2.f;
    y[i] = T[i] + 1.f;
  }
}

// Stores T and reads it back in the same thread, with every pointer declared __restrict__.
//@ elementwise f=two_stage vec=1
//@ roundtrip space=global array=T sync=none same_thread=yes survives=no observed=yes
extern "C" __global__ void rt_same_addr_restrict(
    const float* __restrict__ x, float* __restrict__ T, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    T[i] = x[i] * 2.f;
    y[i] = T[i] + 1.f;
  }
}

// Stores T and reads the thread's own element back after a barrier.
//@ elementwise f=two_stage via=global vec=1
//@ roundtrip space=global array=T sync=barrier same_thread=yes survives=yes observed=yes
//@ sync count=1
extern "C" __global__ void rt_barrier_own(const float* __restrict__ x, float* T, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    T[i] = x[i] * 2.f;
  }
  __syncthreads();
  if (i < n) {
    y[i] = T[i] + 1.f;
  }
}

// Stores T and reads the next thread's element after a barrier.
//@ roundtrip space=global array=T sync=barrier same_thread=no survives=yes observed=yes
//@ exchange via=global form=rotate1
//@ sync count=1
extern "C" __global__ void rt_barrier_other(const float* __restrict__ x, float* T, float* y) {
  int base = blockIdx.x * blockDim.x;
  int t = threadIdx.x;
  T[base + t] = x[base + t] * 2.f;
  __syncthreads();
  int next = t + 1 < (int)blockDim.x ? t + 1 : 0;
  y[base + t] = T[base + next] + 1.f;
}

// Stores T and reads it back through a volatile pointer.
//@ elementwise f=two_stage vec=1
//@ roundtrip space=global array=T sync=none form=volatile same_thread=yes survives=yes observed=yes
extern "C" __global__ void rt_volatile(
    const float* __restrict__ x, volatile float* T, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    T[i] = x[i] * 2.f;
    y[i] = T[i] + 1.f;
  }
}

// Stores T and reads it back after a store to U, which may be the same array.
//@ elementwise f=two_stage vec=1
//@ roundtrip space=global array=T sync=none form=may_alias_store_between same_thread=yes survives=yes observed=yes
extern "C" __global__ void rt_alias_between(const float* x, float* T, float* U, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    T[i] = x[i] * 2.f;
    U[i] = x[i] * 3.f;
    y[i] = T[i] + U[i];
  }
}

// Stores T in one loop and reads it back in the next.
//@ elementwise f=two_stage vec=1
//@ roundtrip space=global array=T sync=loop same_thread=yes survives=yes loop=two_loops observed=yes
extern "C" __global__ void rt_two_loops(
    const float* __restrict__ x, float* __restrict__ T, float* __restrict__ y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    T[i] = x[i] * 2.f;
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    y[i] = T[i] + 1.f;
  }
}

// Stores T and reads it back after a memory fence.
//@ elementwise f=two_stage vec=1
//@ roundtrip space=global array=T sync=fence same_thread=yes survives=yes observed=yes
//@ sync kind=fence count=1
extern "C" __global__ void rt_fence(const float* __restrict__ x, float* T, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    T[i] = x[i] * 2.f;
    __threadfence();
    y[i] = T[i] + 1.f;
  }
}

// Stores T and reads it back after a warp barrier.
//@ elementwise f=two_stage vec=1
//@ roundtrip space=global array=T sync=none form=syncwarp same_thread=yes survives=yes observed=yes
extern "C" __global__ void rt_syncwarp(const float* __restrict__ x, float* T, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  T[i] = x[i] * 2.f;
  __syncwarp();
  y[i] = T[i] + 1.f;
}

// Stores to shared memory and reads the thread's own element back, with nothing between.
//@ elementwise f=two_stage via=shared vec=1
//@ roundtrip space=shared sync=none same_thread=yes survives=no
extern "C" __global__ void rt_smem_nosync(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float buffer[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  buffer[threadIdx.x] = x[i] * 2.f;
  y[i] = buffer[threadIdx.x] + 1.f;
}

// Stores to shared memory and reads the thread's own element back after a barrier.
//@ elementwise f=two_stage via=shared vec=1
//@ roundtrip space=shared sync=barrier same_thread=yes survives=yes
//@ sync count=1
extern "C" __global__ void rt_smem_sync(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float buffer[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  buffer[threadIdx.x] = x[i] * 2.f;
  __syncthreads();
  y[i] = buffer[threadIdx.x] + 1.f;
}

// Fills a local array of 16 and reads it at indices known only at run time.
//@ roundtrip space=local same_thread=yes survives=no reason=dynamic_index_16_becomes_select_chain
//@ select_chain len=16
extern "C" __global__ void rt_local(
    const float* __restrict__ x, const int* __restrict__ k, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float values[16];
  #pragma unroll
  for (int j = 0; j < 16; j++) {
    values[j] = x[i * 16 + j];
  }
  y[i] = values[k[i] & 15] + values[k[i + n] & 15];
}

// Stores y, reads it back after a barrier and overwrites it, so that the first value is dead.
//@ roundtrip space=global array=y sync=barrier same_thread=yes survives=yes observed=overwritten
//@ dead_intermediate array=y reason=same_address_overwritten
//@ sync count=1
//@ elementwise f=two_stage via=global vec=1
extern "C" __global__ void rt_overwrite(const float* __restrict__ x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] * 2.f;
  }
  __syncthreads();
  if (i < n) {
    y[i] = y[i] + 1.f;
  }
}

// Reads x twice around a store that may alias it.
//@ reload array=x times=2 reason=store_may_alias
//@ elementwise f=two_out vec=1
extern "C" __global__ void rt_reload_alias(const float* x, float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] * 2.f;
    z[i] = x[i] * 3.f;
  }
}

// Reads x twice around a store that cannot alias it, so that one load serves both.
//@ elementwise f=two_out vec=1
//@ reuse value=x kind=register
extern "C" __global__ void rt_reload_restrict(
    const float* __restrict__ x, float* __restrict__ y, float* __restrict__ z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] * 2.f;
    z[i] = x[i] * 3.f;
  }
}

// Computes both stages in one expression, the fused form of the round trips above.
//@ elementwise f=fused vec=1
extern "C" __global__ void rt_fused(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] * 2.f + 1.f;
  }
}
