// Top-k: the k largest values in order.

constexpr float lowest = -3.4e38f;

// Finds the four largest values of a row with one thread, by insertion into a sorted list.
//@ topk k=4 via=insertion scope=thread
//@ thread_reduce op=max axis=loop note=rank0_is_a_true_running_max
//@ divergence kind=data survives=no
extern "C" __global__ void topk4_thread(
    const float* __restrict__ x, float* __restrict__ y, int rows, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) {
    return;
  }
  float first = lowest;
  float second = first;
  float third = first;
  float fourth = first;
  for (int i = 0; i < n; i++) {
    float v = x[(size_t)r * n + i];
    float larger;
    larger = fmaxf(first, v);
    v = fminf(first, v);
    first = larger;
    larger = fmaxf(second, v);
    v = fminf(second, v);
    second = larger;
    larger = fmaxf(third, v);
    v = fminf(third, v);
    third = larger;
    fourth = fmaxf(fourth, v);
  }
  y[r * 4] = first;
  y[r * 4 + 1] = second;
  y[r * 4 + 2] = third;
  y[r * 4 + 3] = fourth;
}
