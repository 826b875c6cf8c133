// Three generators of random numbers, a stream for each thread.
// pcg_uniform: PCG XSH RR 64/32 (O'Neill, 2014).
extern "C" __global__ void pcg_uniform(float* y, unsigned long long seed, int n, int per) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long state = seed + i, inc = 2ull * i + 1;
  for (int r = 0; r < per; r++) {
    unsigned long long old = state;
    state = old * 6364136223846793005ull + inc;
    unsigned x = (unsigned)(((old >> 18) ^ old) >> 27), rot = (unsigned)(old >> 59);
    y[(long long)r * n + i] = ((x >> rot | x << (-rot & 31)) >> 8) * 5.9604645e-8f;
  }
}

// xorwow_uniform: xorwow (Marsaglia, 2003), its state in memory.
struct XorwowState {
  unsigned d, v[5];
};
extern "C" __global__ void xorwow_uniform(float* y, XorwowState* states, int n, int per) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  XorwowState s = states[i];
  for (int r = 0; r < per; r++) {
    unsigned t = s.v[0] ^ (s.v[0] >> 2);
    s.v[0] = s.v[1]; s.v[1] = s.v[2]; s.v[2] = s.v[3]; s.v[3] = s.v[4];
    s.v[4] = (s.v[4] ^ (s.v[4] << 4)) ^ (t ^ (t << 1));
    s.d += 362437u;
    y[(long long)r * n + i] = (s.v[4] + s.d) * 2.3283064e-10f;
  }
  states[i] = s;
}

// minstd_uniform: the minimal standard generator (Park, Miller, Stockmeyer, 1993), 48271 modulo 2^31 - 1.
extern "C" __global__ void minstd_uniform(float* y, unsigned seed, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long state = seed + i;
  for (int r = 0; r < 4; r++) state = state * 48271ull % 2147483647ull;
  y[i] = (unsigned)state * 4.656613e-10f;
}
