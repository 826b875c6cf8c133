// Decoys: kernels that look like a motif and are not. A `not motif=...` line names the motif that
// must not be reported.

constexpr unsigned all_lanes = 0xffffffffu;

// Iterates the nonlinear recurrence v = v * v + 0.3, which looks like an accumulation.
//@ not motif=fma_chain_accumulate reason=nonlinear_recurrence
//@ fma_chain loop=yes kind=recurrence
//@ elementwise f=logistic_map vec=1
extern "C" __global__ void dc_recurrence(
    const float* __restrict__ x, float* __restrict__ y, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) {
    return;
  }
  float v = x[i];
  for (int j = 0; j < k; j++) {
    v = v * v + 0.3f;
  }
  y[i] = v;
}

// Evaluates a polynomial with loaded coefficients by Horner's rule, which looks like a dot product.
//@ not motif=fma_chain_accumulate reason=linear_recurrence_horner
//@ fma_chain loop=yes kind=horner
extern "C" __global__ void dc_horner_loop(
    const float* __restrict__ x, const float* __restrict__ c, float* __restrict__ y, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) {
    return;
  }
  float v = x[i];
  float r = 0;
  for (int j = 0; j < k; j++) {
    r = r * v + c[j];
  }
  y[i] = r;
}

// Sorts a warp with a bitonic network, which looks like a maximum ladder.
//@ not motif=warp_reduce_max reason=bitonic_sort
//@ sort via=bitonic scope=warp
extern "C" __global__ void dc_bitonic(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  float v = x[i];
  #pragma unroll
  for (int k = 2; k <= 32; k <<= 1) {
    #pragma unroll
    for (int j = k >> 1; j > 0; j >>= 1) {
      float other = __shfl_xor_sync(all_lanes, v, j);
      bool ascending = ((lane & k) == 0);
      bool lower = ((lane & j) == 0);
      v = (ascending == lower) ? fminf(v, other) : fmaxf(v, other);
    }
  }
  y[i] = v;
}

// Applies a Walsh-Hadamard transform to a warp, which looks like a sum ladder.
//@ not motif=warp_reduce_sum reason=walsh_hadamard
//@ butterfly_transform op=wht
extern "C" __global__ void dc_wht(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  float v = x[i];
  #pragma unroll
  for (int offset = 1; offset < 32; offset <<= 1) {
    float other = __shfl_xor_sync(all_lanes, v, offset);
    v = (lane & offset) ? other - v : v + other;
  }
  y[i] = v;
}

// Adds the value of the next lane, a rotation that looks like one step of a sum ladder.
//@ not motif=warp_reduce_sum reason=rotate
//@ exchange via=shuffle form=rotate1
extern "C" __global__ void dc_rotate(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  y[i] = v + __shfl_sync(all_lanes, v, (threadIdx.x + 1) & 31);
}

// Sums groups of four lanes with only the two widest of the five ladder steps.
//@ warp_reduce op=sum dtype=f32 width=4 steps=2 dir=xor groups=strided8
extern "C" __global__ void dc_partial_ladder(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i];
  sum += __shfl_xor_sync(all_lanes, sum, 16);
  sum += __shfl_xor_sync(all_lanes, sum, 8);
  y[i] = sum;
}

// Sums six lanes by shuffling the original value, so that the ladder does not cover the warp.
//@ not motif=warp_reduce_sum reason=ladder_operand_is_original_value
//@ exchange via=shfl_xor form=neighbour_sum
extern "C" __global__ void dc_fake_ladder(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  float sum = v;
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, v, offset);
  }
  y[i] = sum;
}

// Adds three neighbours through shared memory, a stencil that looks like a block reduction.
//@ not motif=block_reduce reason=smem_stencil
//@ stencil taps=3 via=shared
//@ sync count=1
extern "C" __global__ void dc_smem_stencil(const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float tile[258];
  int t = threadIdx.x;
  int i = blockIdx.x * 256 + t;
  tile[t + 1] = x[i];
  if (t == 0) {
    tile[0] = 0;
  }
  if (t == 255) {
    tile[257] = 0;
  }
  __syncthreads();
  y[i] = tile[t] + tile[t + 1] + tile[t + 2];
}

// Iterates a linear congruential generator, an integer multiply-add chain that reduces nothing.
//@ not motif=thread_reduce_sum reason=lcg_hash
//@ elementwise f=lcg vec=1
extern "C" __global__ void dc_lcg(
    const unsigned* __restrict__ x, unsigned* __restrict__ y, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) {
    return;
  }
  unsigned v = x[i];
  for (int j = 0; j < k; j++) {
    v = v * 1664525u + 1013904223u;
  }
  y[i] = v;
}

// Subtracts lane 0's value, a broadcast of an input and not of a reduction.
//@ not motif=broadcast_reduction reason=lane0_value_is_input_not_reduction
//@ broadcast of=input via=shuffle
extern "C" __global__ void dc_bcast_input(const float* __restrict__ x, float* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = x[i];
  y[i] = v - __shfl_sync(all_lanes, v, 0);
}

// Computes an exponential alone, without the sums of a softmax.
//@ not motif=special_EX2_softmax reason=exp_only
//@ elementwise f=exp vec=1
//@ special fn=EX2 count=1
extern "C" __global__ void dc_exp(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = __expf(x[i]);
  }
}

// Adds quotient and remainder of an integer division, whose expansion uses floating point.
//@ not motif=affine_data reason=FFMA_only_from_int_div_by_const
//@ elementwise f=index_only vec=1
extern "C" __global__ void dc_intdiv(int* __restrict__ y, int d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = i / d + i % d;
  }
}

// Stores to one array and then loads from another, which is no round trip.
//@ not motif=roundtrip reason=different_arrays
//@ elementwise f=two_stage vec=1
extern "C" __global__ void dc_store_then_load_other(
    const float* __restrict__ x,
    const float* __restrict__ z,
    float* __restrict__ y,
    float* __restrict__ w,
    int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] * 2.f;
    w[i] = z[i] + 1.f;
  }
}

// Follows a chain of indices, a loop-carried load that reduces nothing.
//@ not motif=thread_reduce reason=pointer_chase
//@ gather index=data
extern "C" __global__ void dc_chase(const int* __restrict__ nx, int* __restrict__ y, int k, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) {
    return;
  }
  int p = i;
  for (int j = 0; j < k; j++) {
    p = nx[p];
  }
  y[i] = p;
}
