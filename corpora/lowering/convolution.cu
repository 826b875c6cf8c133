// Convolutions with a 3x3 kernel and a fused elementwise epilogue.

// Convolves all input channels directly from global memory, then adds a bias and applies ReLU.
//@ thread_reduce op=sum_of_products axis=loop_C*3*3
//@ fma_chain loop=yes kind=accumulate
//@ elementwise f=bias_relu stage=epilogue
//@ divergence kind=padding_guard survives=no
extern "C" __global__ void conv3x3_bias_relu(
    const float* __restrict__ x,
    const float* __restrict__ w,
    const float* __restrict__ b,
    float* __restrict__ y,
    int C,
    int H,
    int W) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x;
  int oy = blockIdx.y;
  int oc = blockIdx.z;
  if (ox >= W) {
    return;
  }
  float sum = 0;
  for (int c = 0; c < C; c++) {
    #pragma unroll
    for (int ky = 0; ky < 3; ky++) {
      #pragma unroll
      for (int kx = 0; kx < 3; kx++) {
        int iy = oy + ky - 1;
        int ix = ox + kx - 1;
        if (iy >= 0 && iy < H && ix >= 0 && ix < W) {
          sum += x[(c * H + iy) * W + ix] * w[((oc * C + c) * 3 + ky) * 3 + kx];
        }
      }
    }
  }
  y[(oc * H + oy) * W + ox] = fmaxf(sum + b[oc], 0.f);
}

// Convolves each channel on its own (depthwise) from a shared 18x18 tile, then scales and shifts.
//@ thread_reduce op=sum_of_products axis=unrolled9
//@ tile_reuse space=shared arrays=x
//@ fma_chain loop=no kind=accumulate len=9
//@ elementwise f=bias_scale_shift stage=epilogue
//@ sync count=1
extern "C" __global__ void conv_dw3x3_smem(
    const float* __restrict__ x,
    const float* __restrict__ w,
    const float* __restrict__ g,
    const float* __restrict__ b,
    float* __restrict__ y,
    int H,
    int W) {
  __shared__ float tile[18][18];
  int c = blockIdx.z;
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int x0 = blockIdx.x * 16 - 1;
  int y0 = blockIdx.y * 16 - 1;
  const float* channel = x + (size_t)c * H * W;
  for (int e = ty * 16 + tx; e < 324; e += 256) {
    int tile_y = e / 18;
    int tile_x = e % 18;
    int iy = y0 + tile_y;
    int ix = x0 + tile_x;
    tile[tile_y][tile_x] = (iy >= 0 && iy < H && ix >= 0 && ix < W) ? channel[iy * W + ix] : 0.f;
  }
  __syncthreads();
  float sum = 0;
  #pragma unroll
  for (int ky = 0; ky < 3; ky++) {
    #pragma unroll
    for (int kx = 0; kx < 3; kx++) {
      sum += tile[ty + ky][tx + kx] * w[c * 9 + ky * 3 + kx];
    }
  }
  int oy = blockIdx.y * 16 + ty;
  int ox = blockIdx.x * 16 + tx;
  if (oy < H && ox < W) {
    y[(size_t)c * H * W + oy * W + ox] = sum * g[c] + b[c];
  }
}
