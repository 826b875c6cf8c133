"""Kernels that look like a finding and are none, and some that are one; each with the reason in its source."""

from __future__ import annotations

import functools

import pytest

import sassql

ARCHITECTURES = ("sm_75", "sm_90", "sm_120")
SOURCE = """
#define T threadIdx.x
#define B blockIdx.x
#define D blockDim.x
// The load of an iteration comes before its store, and the next iteration is elsewhere.
extern "C" __global__ void next_iteration(const float* x, float* state, int n) {
  __shared__ float s;
  for (int i = B; i < n; i += gridDim.x) {
    float v = x[i * D + T] * state[i];
    if (T == 7) s = v;
    __syncthreads();
    if (T == 0) state[i] = s;
    __syncthreads();
  }
}
// Each row is read before it is written, and never again.
extern "C" __global__ void in_place(float* y, const float* x, float a, int n) {
  for (int r = 0; r < 4; r++) {
    int i = (B * 4 + r) * n + T;
    y[i] = a * y[i] + x[i];
    __syncthreads();
  }
}
// The second pass needs the maximum, and no monoid brings it in.
extern "C" __global__ void clamped(const float* __restrict__ x, float* y, int n) {
  float m = -1e30f, s = 0;
  const float* in = x + B * n;
  for (int i = T; i < n; i += D) m = fmaxf(m, in[i]);
  for (int i = T; i < n; i += D) s += fminf(in[i], 0.5f * m);
  y[B * D + T] = s;
}
// Exponentials, but what is subtracted is a sum.
extern "C" __global__ void exponentials(const float* __restrict__ x, float* y, int n) {
  float m = 0, s = 0;
  const float* in = x + B * n;
  for (int i = T; i < n; i += D) m += in[i];
  for (int i = T; i < n; i += D) s += __expf(in[i] - m);
  y[B * D + T] = s;
}
// Exponentials of products with the maximum.
extern "C" __global__ void scaled(const float* __restrict__ x, float* y, int n) {
  float m = -1e30f, s = 0;
  const float* in = x + B * n;
  for (int i = T; i < n; i += D) m = fmaxf(m, in[i]);
  for (int i = T; i < n; i += D) s += __expf(in[i] * m);
  y[B * D + T] = s;
}
// Squares of products with the sum.
extern "C" __global__ void products(const float* __restrict__ x, float* y, int n) {
  float m = 0, s = 0;
  const float* in = x + B * n;
  for (int i = T; i < n; i += D) m += in[i];
  for (int i = T; i < n; i += D) { float v = in[i] * m; s += v * v; }
  y[B * D + T] = s;
}
// The second pass is one of two loops.
extern "C" __global__ void either(const float* __restrict__ x, const float* __restrict__ g, float* y, int n, int how) {
  float s = 0;
  const float* in = x + B * n;
  float* out = y + B * n;
  #pragma unroll 1
  for (int i = T; i < n; i += D) s += in[i];
  if (how) {
    #pragma unroll 1
    for (int i = T; i < n; i += D) out[i] = in[i] * s;
  } else {
    #pragma unroll 1
    for (int i = T; i < n; i += D) out[i] = in[i] * s * g[i] + s;
  }
}
// One of two loops runs, in each row the same one.
extern "C" __global__ void one_of_two(float* y, const float* __restrict__ g, int rows, int n, int how) {
  for (int r = B; r < rows; r += gridDim.x) {
    if (how) {
      #pragma unroll 1
      for (int i = T; i < n; i += D) y[r * n + i] += g[i];
    } else {
      #pragma unroll 1
      for (int i = T; i < n; i += D) y[r * n + i] = y[r * n + i] * g[i] + 1.f;
    }
  }
}
// Another block's part.
extern "C" __global__ void across(const float* __restrict__ x, float* t, float* y) {
  t[B * D + T] = x[B * D + T] * 2.f;
  __syncthreads();
  y[B * D + T] = t[(gridDim.x - 1 - B) * D + T];
}
// The same block's part.
extern "C" __global__ void reversed(const float* __restrict__ x, float* t, float* y) {
  t[B * D + T] = x[B * D + T] * 2.f;
  __syncthreads();
  y[B * D + T] = t[B * D + D - 1 - T];
}
// Two passes, neither of which needs the other.
extern "C" __global__ void separate(const float* x, float* sum, float* low, int n) {
  float s = 0, m = 1e30f;
  const float* in = x + B * n;
  for (int i = T; i < n; i += D) s += in[i];
  sum[B * D + T] = s;
  for (int i = T; i < n; i += D) m = fminf(m, in[i]);
  low[B * D + T] = m;
}
// The sum is kept in memory in each iteration.
extern "C" __global__ void in_memory(const volatile float* x, volatile float* y, int n) {
  #pragma unroll 1
  for (int k = 0; k < n; k++) y[B * D + T] += x[k * 1024 + T];
}
"""


@functools.cache
def _kernels(arch, path):
    return {kernel.name: kernel for kernel in sassql.load(path, arch=arch).kernels}


@pytest.fixture
def kernel(tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "advice_limits.cu"
    path.write_text(SOURCE)
    return lambda name, arch: _kernels(arch, path)[name]


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ["next_iteration", "in_place", "across"])
def test_what_is_read_back_is_not_what_was_stored(kernel, name, arch):
    assert sassql.advise(kernel(name, arch), rules=[1]).findings == ()


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", ["clamped", "exponentials", "scaled", "products"])
def test_the_second_pass_needs_the_whole_first_one(kernel, name, arch):
    assert sassql.advise(kernel(name, arch), rules=[4]).findings == ()
    assert len(sassql.advise(kernel(name, arch), rules=[3]).findings) == 1


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_values_that_stay_in_a_block(kernel, arch):
    (found,) = sassql.advise(kernel("reversed", arch), rules=[1]).findings

    assert (found.details["scope"], found.effects[0].formula) == ("block", "8*blocks*threads")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_passes_that_need_nothing_of_each_other(kernel, arch):
    (found,) = sassql.advise(kernel("separate", arch), rules=[4]).findings

    assert (found.details["state"], found.details["level"]) == ("both results side by side", "E0")
    assert "param0 and param1 do not overlap" in found.conditions


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_sum_that_is_kept_in_memory(kernel, arch):
    found = sassql.advise(kernel("in_memory", arch), rules=[1]).findings

    assert [f.details["scope"] for f in found] == ["loop"]
    assert "in a register over the loop" in found[0].action
    assert any("param1 and param0 do not overlap" in c for c in found[0].conditions)
    effect = found[0].effects[0]  # on sm_75 the loop ends by an EXIT in its middle
    assert effect.formula == "8*blocks*threads*param2" or (arch == "sm_75" and "how often" in effect.unknown)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_passes_that_exclude_each_other_count_once(kernel, arch):
    (found,) = sassql.advise(kernel("either", arch), rules=[3]).findings

    assert (found.details["times"], found.effects[0].formula) == (2, "4*blocks*param3")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_loops_that_exclude_each_other_are_no_two_passes(kernel, arch):
    assert sassql.advise(kernel("one_of_two", arch), rules=[1, 3, 4]).findings == ()
