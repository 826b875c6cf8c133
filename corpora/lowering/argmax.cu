// Argmax: the index of the largest value.

constexpr unsigned all_lanes = 0xffffffffu;
constexpr float lowest = -3.4e38f;

// Finds the index of the row maximum with one warp per row, shuffling value and index; the
// smaller index wins a tie between lanes.
//@ thread_reduce op=argmax axis=loop
//@ warp_reduce op=argmax dtype=f32+s32 width=32 steps=5 dir=down
extern "C" __global__ void argmax_warp(const float* __restrict__ x, int* __restrict__ y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  const float* in = x + (size_t)row * n;
  float maximum = lowest;
  int index = -1;
  for (int i = lane; i < n; i += 32) {
    float v = in[i];
    if (v > maximum) {
      maximum = v;
      index = i;
    }
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    float other_maximum = __shfl_down_sync(all_lanes, maximum, offset);
    int other_index = __shfl_down_sync(all_lanes, index, offset);
    if (other_maximum > maximum || (other_maximum == maximum && other_index < index)) {
      maximum = other_maximum;
      index = other_index;
    }
  }
  if (lane == 0) {
    y[row] = index;
  }
}

// Finds the index of the largest magnitude of a warp, with value and index packed into 64 bits.
//@ warp_reduce op=argmax dtype=u64_packed width=32 steps=5 dir=xor
extern "C" __global__ void argmax_packed(const float* __restrict__ x, int* __restrict__ y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long best = ((unsigned long long)__float_as_uint(fabsf(x[i])) << 32) | (unsigned)i;
  for (int offset = 16; offset > 0; offset >>= 1) {
    unsigned long long other = __shfl_xor_sync(all_lanes, best, offset);
    best = other > best ? other : best;
  }
  if ((threadIdx.x & 31) == 0) {
    y[i >> 5] = (int)best;
  }
}
