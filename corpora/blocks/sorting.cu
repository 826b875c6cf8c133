// A bitonic network over the lanes of a warp, by keys that come with their places; no minimum and no maximum is taken.
extern "C" __global__ void sort_pairs(const float* __restrict__ x, float* y, int* where) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int lane = threadIdx.x & 31;
  float key = x[i];
  int place = i;
#pragma unroll
  for (int size = 2; size <= 32; size <<= 1) {
#pragma unroll
    for (int d = size >> 1; d > 0; d >>= 1) {
      float other = __shfl_xor_sync(~0u, key, d);
      int from = __shfl_xor_sync(~0u, place, d);
      bool lower = (lane & d) == 0;
      bool up = (lane & size) == 0;
      bool take = lower == up ? key > other : key < other;
      key = take ? other : key;
      place = take ? from : place;
    }
  }
  y[i] = key;
  where[i] = place;
}
