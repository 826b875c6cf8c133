// Elementwise maps in 32-bit floating point: one thread makes one output (or one vector of
// outputs) and exchanges nothing.

// Computes ReLU with a maximum.
//@ elementwise f=relu  vec=1
extern "C" __global__ void ew_relu(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = fmaxf(x[i], 0.f);
  }
}

// Computes ReLU with a select.
//@ elementwise f=relu variant=select vec=1
extern "C" __global__ void ew_relu_select(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = v > 0.f ? v : 0.f;
  }
}

// Computes leaky ReLU with slope a below zero.
//@ elementwise f=leaky_relu vec=1
extern "C" __global__ void ew_leaky(
    const float* __restrict__ x, float* __restrict__ y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = v > 0.f ? v : a * v;
  }
}

// Clamps to the range from lo to hi.
//@ elementwise f=clamp vec=1
extern "C" __global__ void ew_clamp(
    const float* __restrict__ x, float* __restrict__ y, float lo, float hi, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = fminf(fmaxf(x[i], lo), hi);
  }
}

// Clamps to the range from 0 to 1 by saturation.
//@ elementwise f=clamp01 variant=saturate vec=1
extern "C" __global__ void ew_clamp01(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = __saturatef(x[i]);
  }
}

// Multiplies by a scalar.
//@ elementwise f=scale vec=1
extern "C" __global__ void ew_scale(
    const float* __restrict__ x, float* __restrict__ y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = a * x[i];
  }
}

// Divides by a scalar with the exact division.
//@ elementwise f=scale variant=div vec=1
//@ special fn=RCP count=1 approx=no
//@ slowpath fn=div
extern "C" __global__ void ew_divs(
    const float* __restrict__ x, float* __restrict__ y, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] / s;
  }
}

// Divides by a scalar with the approximate division.
//@ elementwise f=scale variant=fdividef vec=1
//@ special fn=RCP count=1
//@ approx fn=div
extern "C" __global__ void ew_fdividef(
    const float* __restrict__ x, float* __restrict__ y, float s, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = __fdividef(x[i], s);
  }
}

// Adds a bias per column, with the row taken from the grid.
//@ elementwise f=bias_add vec=1
//@ broadcast of=input via=global axis=col
extern "C" __global__ void ew_bias(
    const float* __restrict__ x,
    const float* __restrict__ b,
    float* __restrict__ y,
    int rows,
    int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y;
  if (c < cols) {
    y[(size_t)r * cols + c] = x[(size_t)r * cols + c] + b[c];
  }
}

// Adds a bias per column, with the column computed by a remainder.
//@ elementwise f=bias_add variant=mod vec=1
//@ gather index=i_mod_cols
extern "C" __global__ void ew_bias_mod(
    const float* __restrict__ x,
    const float* __restrict__ b,
    float* __restrict__ y,
    int n,
    int cols) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = x[i] + b[i % cols];
  }
}

// Computes the sigmoid with the accurate exponential and the exact division.
//@ elementwise f=sigmoid vec=1
//@ special fn=EX2 count=1
//@ special fn=RCP count=1
//@ slowpath fn=div
extern "C" __global__ void ew_sigmoid(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 1.f / (1.f + expf(-x[i]));
  }
}

// Computes the sigmoid with the approximate exponential and division.
//@ elementwise f=sigmoid variant=fast vec=1
//@ special fn=EX2 count=1
//@ special fn=RCP count=1
//@ approx fn=exp,div
extern "C" __global__ void ew_sigmoid_fast(
    const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = __fdividef(1.f, 1.f + __expf(-x[i]));
  }
}

// Computes SiLU, the input times its sigmoid.
//@ elementwise f=silu vec=1
//@ special fn=EX2 count=1
//@ special fn=RCP count=1
//@ slowpath fn=div
//@ reuse value=x kind=register
extern "C" __global__ void ew_silu(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = v / (1.f + expf(-v));
  }
}

// Computes GELU in its tanh form.
//@ elementwise f=gelu variant=tanhf vec=1
//@ special fn=TANH_or_EX2 count=1
//@ divergence kind=libm_branch survives=no
extern "C" __global__ void ew_gelu_tanh(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = 0.5f * v * (1.f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  }
}

// Computes GELU in its error-function form.
//@ elementwise f=gelu variant=erf vec=1
//@ special fn=EX2 count=1
//@ affine form=poly_horner
extern "C" __global__ void ew_gelu_erf(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = 0.5f * v * (1.f + erff(v * 0.70710678f));
  }
}

// Computes ReLU on four elements per thread.
//@ elementwise f=relu vec=4
//@ vec load=16 store=16
extern "C" __global__ void ew_relu_f4(
    const float4* __restrict__ x, float4* __restrict__ y, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) {
    float4 v = x[i];
    v.x = fmaxf(v.x, 0.f);
    v.y = fmaxf(v.y, 0.f);
    v.z = fmaxf(v.z, 0.f);
    v.w = fmaxf(v.w, 0.f);
    y[i] = v;
  }
}

// Multiplies by a scalar in a grid-stride loop.
//@ elementwise f=scale variant=gridstride vec=1
//@ loop kind=grid_stride
extern "C" __global__ void ew_scale_gs(
    const float* __restrict__ x, float* __restrict__ y, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] = a * x[i];
  }
}

// Adds a residual and applies ReLU.
//@ elementwise f=residual_add_relu vec=1
extern "C" __global__ void ew_residual_relu(
    const float* __restrict__ x, const float* __restrict__ r, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = fmaxf(x[i] + r[i], 0.f);
  }
}

// Adds a bias per column, applies GELU with the approximate tanh and adds a residual.
//@ elementwise f=bias_gelu_residual vec=1
//@ special fn=TANH_or_EX2 count=1
//@ approx fn=tanh
//@ broadcast of=input via=global axis=col
extern "C" __global__ void ew_bias_gelu_res(
    const float* __restrict__ x,
    const float* __restrict__ b,
    const float* __restrict__ r,
    float* __restrict__ y,
    int rows,
    int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y;
  if (c < cols) {
    size_t i = (size_t)row * cols + c;
    float v = x[i] + b[c];
    float t;
    float u = 0.79788456f * (v + 0.044715f * v * v * v);
    asm("{.reg .f32 a; tanh.approx.f32 %0, %1;}" : "=f"(t) : "f"(u));
    y[i] = r[i] + 0.5f * v * (1.f + t);
  }
}

// Computes the sine, which needs argument reduction for large inputs.
//@ elementwise f=sincos vec=1
//@ slowpath fn=trig_reduction
//@ fma_chain loop=no kind=horner
extern "C" __global__ void ew_sin(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = sinf(x[i]);
  }
}
