// Warp reductions: shuffle ladders and hardware reductions on 32-bit and 64-bit values.

constexpr unsigned all_lanes = 0xffffffffu;

// Sums a warp with a butterfly, widest step first; every lane gets the sum.
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_sum_xor(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  y[i] = sum;
}

// Sums a warp with a butterfly, narrowest step first.
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor order=ascending
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_sum_xor_up(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int offset = 1; offset < 32; offset <<= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  y[i] = sum;
}

// Sums a warp into lane 0, hands the sum to every lane and divides by it.
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=down
//@ broadcast of=reduction via=shuffle
extern "C" __global__ void wr_sum_down_bcast(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(all_lanes, sum, offset);
  }
  sum = __shfl_sync(all_lanes, sum, 0);
  y[i] = x[i] / sum;
}

// Subtracts the maximum of the warp.
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_max_xor(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  float maximum = v;
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  y[i] = v - maximum;
}

// Finds the minimum of a warp in lane 0.
//@ warp_reduce op=min dtype=f32 width=32 steps=5 dir=down
extern "C" __global__ void wr_min_down(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float minimum = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    minimum = fminf(minimum, __shfl_down_sync(all_lanes, minimum, offset));
  }
  if ((threadIdx.x & 31) == 0) {
    y[i >> 5] = minimum;
  }
}

// Sums groups of eight lanes with a butterfly.
//@ warp_reduce op=sum dtype=f32 width=8 steps=3 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_sum_w8(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int offset = 4; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset, 8);
  }
  y[i] = sum;
}

// Sums groups of sixteen lanes into their first lane.
//@ warp_reduce op=sum dtype=f32 width=16 steps=4 dir=down
extern "C" __global__ void wr_sum_w16_down(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int offset = 8; offset > 0; offset >>= 1) {
    sum += __shfl_down_sync(all_lanes, sum, offset, 16);
  }
  if ((threadIdx.x & 15) == 0) {
    y[i >> 4] = sum;
  }
}

// Sums a warp with a butterfly that stays a loop.
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor form=rolled_loop
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_sum_rolled(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  #pragma unroll 1
  for (int offset = 16; offset != 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  y[i] = sum;
}

// Sums groups of w lanes, where w is known only at run time.
//@ warp_reduce op=sum dtype=f32 width=param dir=xor form=rolled_loop
extern "C" __global__ void wr_sum_paramwidth(
    const float* __restrict__ x, float* __restrict__ y, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  for (int offset = w >> 1; offset != 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  y[i] = sum;
}

// Sums integers over a warp with a butterfly.
//@ warp_reduce op=sum dtype=s32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_isum_xor(const int* __restrict__ x, int* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  y[i] = sum;
}

// Finds the integer maximum of a warp with a butterfly.
//@ warp_reduce op=max dtype=s32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_imax_xor(const int* __restrict__ x, int* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int maximum = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = max(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  y[i] = maximum;
}

#if __CUDA_ARCH__ >= 800
// Sums integers over a warp with the reduction instruction.
//@ minarch 80
//@ warp_reduce op=sum dtype=s32 width=32 steps=1 dir=redux
//@ broadcast of=reduction via=redux
extern "C" __global__ void wr_isum_redux(const int* __restrict__ x, int* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = __reduce_add_sync(all_lanes, x[i]);
}

// Finds the integer maximum of a warp with the reduction instruction.
//@ minarch 80
//@ warp_reduce op=max dtype=s32 width=32 steps=1 dir=redux
//@ broadcast of=reduction via=redux
extern "C" __global__ void wr_imax_redux(const int* __restrict__ x, int* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = __reduce_max_sync(all_lanes, x[i]);
}
#endif

#if defined(__CUDA_ARCH_FEAT_SM100_ALL)
// Finds the floating-point maximum of a warp with the reduction instruction (sm_100a only).
//@ minarch 100a
//@ warp_reduce op=max dtype=f32 width=32 steps=1 dir=redux
//@ broadcast of=reduction via=redux
extern "C" __global__ void wr_fmax_redux(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float maximum;
  asm volatile("redux.sync.max.f32 %0, %1, 0xffffffff;" : "=f"(maximum) : "f"(x[i]));
  y[i] = maximum;
}
#endif

// Sums 64-bit floating-point values over a warp with a butterfly.
//@ warp_reduce op=sum dtype=f64 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_dsum_xor(const double* __restrict__ x, double* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  y[i] = sum;
}

// Sums values and their squares in one loop, two ladders side by side.
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_sum_sumsq(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  float sum = v;
  float squares = v * v;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
    squares += __shfl_xor_sync(all_lanes, squares, offset);
  }
  y[i] = squares - sum * sum;
}

// Multiplies the values of a warp with a butterfly.
//@ warp_reduce op=prod dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
extern "C" __global__ void wr_prod_xor(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float product = x[i];
  for (int offset = 16; offset > 0; offset >>= 1) {
    product *= __shfl_xor_sync(all_lanes, product, offset);
  }
  y[i] = product;
}
