// What the compiler adds of its own: slow paths, copies for diverged warps, loops that wait.

extern "C" __global__ void divides(const float* x, float* y, double* z) {
    int i = threadIdx.x;
    y[i] = x[i] / x[i + 1];
    z[i] = sqrt(z[i] / x[i]);
}

extern "C" __global__ void rounds(double* z) { z[threadIdx.x] = sin(z[threadIdx.x]); }

extern "C" __global__ void waits(volatile int* flag, int* out, int n) {
    while (flag[0] < n) {
    }
    out[threadIdx.x] = n;
}

extern "C" __global__ void searches(const int* x, int* out, int n) {
    int i = 0;
    while (x[i] < n) i++;
    out[threadIdx.x] = i;
}

extern "C" __global__ void swaps(unsigned* x, unsigned v) {
    unsigned old = x[0], seen;
    do {
        seen = old;
        old = atomicCAS(x, seen, seen * 3 + v);
    } while (old != seen);
}

extern "C" __global__ void hangs(int* x) {
    x[threadIdx.x] = 1;
    for (;;) asm volatile("");
}

extern "C" __global__ void folds(const float* x, float* y, int n) {
    float v = 0;
    for (int i = threadIdx.x; i < n; i += 32) v += x[i];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (threadIdx.x < 4) y[threadIdx.x] = v;
    if (n > 3) {
        __syncwarp();
        float w = __shfl_xor_sync(0xffffffff, v, 1);
        y[n] = w;
    }
}
