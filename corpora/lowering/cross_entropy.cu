// Cross-entropy loss of rows of logits.

constexpr unsigned all_lanes = 0xffffffffu;
constexpr float lowest = -3.4e38f;

// Computes log(sum(exp(x))) - x[label] per row, with one warp per row.
//@ thread_reduce op=max axis=loop
//@ thread_reduce op=sum axis=loop
//@ warp_reduce op=max dtype=f32 width=32 steps=5 dir=xor
//@ warp_reduce op=sum dtype=f32 width=32 steps=5 dir=xor
//@ broadcast of=reduction via=butterfly
//@ special fn=EX2 count=1
//@ special fn=LG2 count=1
//@ gather index=label
//@ reload array=x times=2
//@ approx fn=exp,log
extern "C" __global__ void xent_warp(
    const float* __restrict__ x, const int* __restrict__ lab, float* __restrict__ loss, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  int lane = threadIdx.x & 31;
  const float* in = x + (size_t)row * n;
  float maximum = lowest;
  float sum = 0;
  for (int i = lane; i < n; i += 32) {
    maximum = fmaxf(maximum, in[i]);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    maximum = fmaxf(maximum, __shfl_xor_sync(all_lanes, maximum, offset));
  }
  for (int i = lane; i < n; i += 32) {
    sum += __expf(in[i] - maximum);
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    sum += __shfl_xor_sync(all_lanes, sum, offset);
  }
  if (lane == 0) {
    loss[row] = __logf(sum) + maximum - in[lab[row]];
  }
}
