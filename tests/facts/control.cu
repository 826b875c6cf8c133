extern "C" __global__ void sw(const int* a, int* o, int n){
  int t=threadIdx.x; int x=a[t];
  switch(n){
   case 0: x=x*3+1; o[1]=x; break; case 1: x=__popc(x); o[2]=x; break; case 2: x=x/7; o[3]=x; break; case 3: x=x^0x55; o[5]=x*x; break;
   case 4: x=x%11; o[6]=x; break; case 5: x=__clz(x); o[9]=x; break; case 6: x=x<<3; o[8]=x|2; break; case 7: x=~x; o[7]=x-5; break; case 8: x=x*x*x; o[4]=x; break; case 9: x = x-99; o[11]=x; break;
   default: x=0; }
  o[t+100]=x;
}
extern "C" __global__ void swd(const int* a, int* o){
  int t=threadIdx.x; int x=a[t];
  switch(x){
   case 0: x=o[1]; o[1]=x; break; case 1: x=__popc(x)+o[4]; o[2]=x; break; case 2: x=x/7; o[3]=x; break; case 3: x=x^0x55; o[5]=x*x; break;
   case 4: x=o[x]%11; o[6]=x; break; case 5: x=o[77]; o[9]=x; break; case 6: x=x<<3; o[8]=x|2; break; case 7: x=~o[9]; o[7]=x-5; break; case 8: x=x*x*x; o[4]=x; break; case 9: x = x-99; o[11]=x; break;
   default: x=0; }
  o[t+100]=x;
}
__device__ __noinline__ int fib(int n){ return n<2? n : fib(n-1)+fib(n-2); }
extern "C" __global__ void rec(int* o,int n){ o[threadIdx.x]=fib(n+threadIdx.x); }
__device__ __noinline__ float f1(float x){ return x*2.f+__sinf(x);} __device__ __noinline__ float f2(float x){ return sqrtf(x)/3.f;}
typedef float (*fp)(float);
__device__ fp table[2]={f1,f2};
extern "C" __global__ void ind(float* o,int n){ o[threadIdx.x]=table[n](o[threadIdx.x]); }
extern "C" __global__ void dir(float* o,int n){ float x=o[threadIdx.x]; if(n>3) x=f1(x); for(int i=0;i<n;i++) x=f2(x)+i; o[threadIdx.x]=x; }
extern "C" __global__ void trap(float* o,int n){ if(o[n]<0) __trap(); for(int i=threadIdx.x;i<n;i+=32){ if(o[i]==3.f) return; o[i]=1/o[i]; if (o[i]>7) break; } __syncthreads(); o[0]=double(o[1])/double(o[2]); }
extern "C" __global__ void loops(float* o,int n){ for(int i=0;i<n;i++){ float s=0; for(int j=0;j<i;j++){ if(o[j]>s) continue; s+=o[j]*s; while(s>5) s=s*.5f-o[j]; } o[i]=s; } }
extern "C" __global__ void spin(volatile int* o){ while(atomicCAS((int*)o,0,1)!=0) ; o[1]++; __threadfence(); o[0]=0; for(;;) { if (o[3]) break; } }
extern "C" __global__ void forever(volatile int* o){ for(;;) o[threadIdx.x]++; }
extern "C" __global__ void local(float*o,int n,int m){ float a[40]; for(int i=0;i<40;i++) a[i]=o[i]; for(int i=0;i<n;i++) a[(i*m)%40]+=a[(i+m)%40]; float s=0; for(int i=0;i<40;i++) s+=a[i]; o[m]=s;}
extern "C" __global__ void __launch_bounds__(1024,2) spill(const float*__restrict__ a,float*o,int n){ float r[56]; 
#pragma unroll
 for(int i=0;i<56;i++) r[i]=a[i*32+threadIdx.x]; for(int k=0;k<n;k++){ 
#pragma unroll
  for(int i=0;i<56;i++) r[i]=r[i]*r[(i*7+3)%56]+a[k*56+i]; }
#pragma unroll
 for(int i=0;i<56;i++) o[i*32+threadIdx.x]=r[i]; }
extern "C" __global__ void warpdiv(float* o,int n){ int t=threadIdx.x; float x=o[t]; if(x>n){ x+=__shfl_xor_sync(__activemask(),x,1); x+=__shfl_xor_sync(0xffff,x,2);} o[t]=x; }
