// Grid reductions: partial results in two passes, atomics, and the last block that finishes.

constexpr unsigned all_lanes = 0xffffffffu;

// Sums in a grid-stride loop and stores one partial sum per block (first of two passes).
//@ thread_reduce op=sum dtype=f32 axis=grid_stride_loop
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ block_reduce op=sum via=shfl+smem
//@ grid_reduce op=sum via=partials role=pass1
//@ sync count=1
extern "C" __global__ void gr_pass1(const float* __restrict__ x, float* __restrict__ part, int n) {
  __shared__ float warp_sums[32];
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
    sum += x[i];
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    warp_sums[warp] = sum;
  }
  __syncthreads();
  if (warp == 0) {
    sum = lane < (blockDim.x >> 5) ? warp_sums[lane] : 0.f;
    for (int offset = 16; offset > 0; offset >>= 1) {
      sum += __shfl_xor_sync(all_lanes, sum, offset);
    }
    if (lane == 0) {
      part[blockIdx.x] = sum;
    }
  }
}

// Sums the blocks' partial sums with one warp (second of two passes).
//@ thread_reduce op=sum dtype=f32 axis=loop
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ grid_reduce op=sum via=partials role=pass2
extern "C" __global__ void gr_pass2(const float* __restrict__ part, float* __restrict__ o, int nb) {
  float sum = 0;
  for (int i = threadIdx.x; i < nb; i += 32) {
    sum += part[i];
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (threadIdx.x == 0) {
    o[0] = sum;
  }
}

// Divides every element by a sum that an earlier kernel left in global memory.
//@ elementwise f=scale_by_scalar vec=1
//@ broadcast of=reduction via=global cross_kernel=yes
//@ special fn=RCP count=1
//@ slowpath fn=div
extern "C" __global__ void gr_consume(
    const float* __restrict__ x, const float* __restrict__ s, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] / s[0];
  }
}

// Sums with one floating-point atomic per thread.
//@ grid_reduce op=sum via=atomic per=thread
extern "C" __global__ void gr_atomic_thread(const float* __restrict__ x, float* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(o, x[i]);
  }
}

// Sums with one integer atomic per thread, which the compiler aggregates per warp.
//@ grid_reduce op=sum via=atomic per=thread dtype=s32
//@ warp_reduce op=sum dtype=s32 width=32 origin=compiler
extern "C" __global__ void gr_atomic_int(const int* __restrict__ x, int* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(o, x[i]);
  }
}

// Finds the integer maximum with a shuffle ladder and one atomic per warp.
//@ warp_reduce op=max dtype=s32 width=32 steps=5 dir=xor
//@ grid_reduce op=max via=atomic per=warp dtype=s32
//@ warp_reduce op=max dtype=s32 width=32 origin=compiler
extern "C" __global__ void gr_atomic_imax(const int* __restrict__ x, int* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int maximum = i < n ? x[i] : (-2147483647 - 1);
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = max(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  if ((threadIdx.x & 31) == 0) {
    atomicMax(o, maximum);
  }
}

// Finds the floating-point maximum with a compare-and-swap loop per thread.
//@ grid_reduce op=max via=atomic form=cas_loop
//@ divergence kind=cas_retry
extern "C" __global__ void gr_cas_fmax(const float* __restrict__ x, int* o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) {
    return;
  }
  float v = x[i];
  int old = *o;
  while (__int_as_float(old) < v) {
    int assumed = old;
    old = atomicCAS(o, assumed, __float_as_int(v));
    if (old == assumed) {
      break;
    }
  }
}

// Sums in one launch: the block that takes the last ticket adds up all partial sums.
//@ thread_reduce op=sum dtype=f32 axis=grid_stride_loop
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor count=4
//@ block_reduce op=sum via=shfl+smem count=2
//@ grid_reduce op=sum via=last_block
//@ roundtrip space=global sync=fence same_thread=no survives=yes
//@ sync count=3
extern "C" __global__ void gr_lastblock(
    const float* __restrict__ x, volatile float* part, float* o, unsigned* ticket, int n) {
  __shared__ float warp_sums[32];
  __shared__ bool last;
  int t = threadIdx.x;
  int lane = t & 31;
  int warp = t >> 5;

  // Every block leaves its partial sum and takes a ticket.
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
    sum += x[i];
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    warp_sums[warp] = sum;
  }
  __syncthreads();
  if (warp == 0) {
    sum = lane < (blockDim.x >> 5) ? warp_sums[lane] : 0.f;
    for (int offset = 16; offset > 0; offset >>= 1) {
      sum += __shfl_xor_sync(all_lanes, sum, offset);
    }
    if (lane == 0) {
      part[blockIdx.x] = sum;
      __threadfence();
      last = atomicAdd(ticket, 1u) == gridDim.x - 1;
    }
  }
  __syncthreads();

  // The last block reduces the partial sums.
  if (last) {
    sum = 0;
    for (int i = t; i < (int)gridDim.x; i += blockDim.x) {
      sum += part[i];
    }
    for (int offset = 16; offset > 0; offset >>= 1) {
      sum += __shfl_xor_sync(all_lanes, sum, offset);
    }
    if (lane == 0) {
      warp_sums[warp] = sum;
    }
    __syncthreads();
    if (warp == 0) {
      sum = lane < (blockDim.x >> 5) ? warp_sums[lane] : 0.f;
      for (int offset = 16; offset > 0; offset >>= 1) {
        sum += __shfl_xor_sync(all_lanes, sum, offset);
      }
      if (lane == 0) {
        o[0] = sum;
        *ticket = 0;
      }
    }
  }
}
