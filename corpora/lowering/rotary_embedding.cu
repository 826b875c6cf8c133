// Rotary position embedding (RoPE): rotates pairs of elements by an angle that depends on the
// position.

// Rotates interleaved pairs with sines and cosines from a table.
//@ elementwise f=rope vec=2
//@ vec load=8 store=8
//@ rotation pairs=interleaved
//@ broadcast of=input via=global axis=none
extern "C" __global__ void rope_table(
    const float2* __restrict__ x,
    const float* __restrict__ cs,
    const float* __restrict__ sn,
    float2* __restrict__ y,
    int D2,
    int total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) {
    return;
  }
  int d = i % D2;
  int position = i / D2;
  float c = cs[position * D2 + d];
  float s = sn[position * D2 + d];
  float2 v = x[i];
  y[i] = make_float2(v.x * c - v.y * s, v.x * s + v.y * c);
}

// Rotates pairs of elements H apart, with the angle computed by approximate functions.
//@ permute form=pairs_half_split
//@ rotation pairs=half_split
//@ special fn=SIN,COS count=2
//@ special fn=EX2 count=1
//@ approx fn=sincos,exp2
extern "C" __global__ void rope_fast(const float* __restrict__ x, float* __restrict__ y, int H) {
  int d = threadIdx.x;
  int position = blockIdx.x;
  float angle = (float)position * exp2f(-13.2877f * (float)d / (float)H);
  float s = __sinf(angle);
  float c = __cosf(angle);
  size_t o = (size_t)position * 2 * H + d;
  float a = x[o];
  float b = x[o + H];
  y[o] = a * c - b * s;
  y[o + H] = a * s + b * c;
}
