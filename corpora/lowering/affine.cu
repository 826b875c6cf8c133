// Affine maps a * x + b: where the coefficients come from and whether the product is observed.

// Computes y = a * x + b with scalar coefficients.
//@ elementwise f=affine vec=1
//@ affine form=scalar_ab
extern "C" __global__ void aff_scalar(
    const float* __restrict__ x, float* __restrict__ y, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = a * x[i] + b;
  }
}

// Computes y = a * x + b with one pair of coefficients per element.
//@ elementwise f=affine vec=1
//@ affine form=vector_ab
extern "C" __global__ void aff_vec(
    const float* __restrict__ x,
    const float* __restrict__ a,
    const float* __restrict__ b,
    float* __restrict__ y,
    int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = a[i] * x[i] + b[i];
  }
}

// Computes y = a * x + b with intrinsics that forbid contraction to one multiply-add.
//@ elementwise f=affine variant=no_contract vec=1
//@ affine form=scalar_ab contracted=no
extern "C" __global__ void aff_nocontract(
    const float* __restrict__ x, float* __restrict__ y, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = __fadd_rn(__fmul_rn(a, x[i]), b);
  }
}

// Computes y = a * x + b and also stores the product, which therefore stays a separate multiply.
//@ elementwise f=affine variant=product_escapes vec=1
//@ affine form=scalar_ab contracted=no product_observed=yes
extern "C" __global__ void aff_product_escapes(
    const float* __restrict__ x,
    float* __restrict__ y,
    float* __restrict__ p,
    float a,
    float b,
    int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float product = a * x[i];
    p[i] = product;
    y[i] = product + b;
  }
}

// Computes y = g * x + b on an NCHW tensor with one pair of coefficients per channel.
//@ elementwise f=affine variant=per_channel vec=1
//@ affine form=channel_ab
//@ broadcast of=input via=global axis=channel
extern "C" __global__ void aff_channel(
    const float* __restrict__ x,
    const float* __restrict__ g,
    const float* __restrict__ b,
    float* __restrict__ y,
    int C,
    int HW) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  int c = blockIdx.y;
  int n = blockIdx.z;
  if (p < HW) {
    size_t i = ((size_t)n * C + c) * HW + p;
    y[i] = g[c] * x[i] + b[c];
  }
}

// Computes y = a * x + y in place (saxpy).
//@ elementwise f=affine variant=saxpy_inplace vec=1
//@ affine form=vector_b
//@ inplace array=y
extern "C" __global__ void aff_saxpy(
    const float* __restrict__ x, float* __restrict__ y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = a * x[i] + y[i];
  }
}

// Evaluates a polynomial of degree five by Horner's rule, written out.
//@ elementwise f=poly5 vec=1
//@ affine form=poly_horner depth=5
//@ fma_chain loop=no len=5 kind=horner
extern "C" __global__ void aff_horner(const float* __restrict__ x, float* __restrict__ y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    float r = 0.1f;
    r = r * v + 0.2f;
    r = r * v + 0.3f;
    r = r * v + 0.4f;
    r = r * v + 0.5f;
    r = r * v + 0.6f;
    y[i] = r;
  }
}
