// SPDX-License-Identifier: Apache-2.0
// The device's functions under test, compiled with the flags of kernels: each one is only an elementwise
// kernel. sweeps_device.cu judges them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <type_traits>

#include "accuracy/functions/functions.hpp"

namespace assay::functions {
namespace {

constexpr int kThreads = 256;

// ---- f32: one argument x, or a and b ----

struct Expf {
  static __device__ float of(float x, float) { return expf(x); }
};
struct FastExpf {
  static __device__ float of(float x, float) { return __expf(x); }
};
struct Exp2f {
  static __device__ float of(float x, float) { return exp2f(x); }
};
struct Ex2Approx {
  static __device__ float of(float x, float) {
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
};
struct Ex2ApproxFtz {
  static __device__ float of(float x, float) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }
};
struct Logf {
  static __device__ float of(float x, float) { return logf(x); }
};
struct FastLogf {
  static __device__ float of(float x, float) { return __logf(x); }
};
struct Reciprocal {
  static __device__ float of(float, float b) { return 1.0f / b; }
};
struct ReciprocalRn {
  static __device__ float of(float, float b) { return __frcp_rn(b); }
};
struct RcpApproxFtz {
  static __device__ float of(float, float b) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
    return y;
  }
};
struct Divide {
  static __device__ float of(float a, float b) { return a / b; }
};
struct FastDivide {
  static __device__ float of(float a, float b) { return __fdividef(a, b); }
};

// ---- 16 bits ----

template <class H>
__device__ __forceinline__ H pattern(unsigned short bits);
template <>
__device__ __forceinline__ __half pattern<__half>(unsigned short bits) {
  return __ushort_as_half(bits);
}
template <>
__device__ __forceinline__ __nv_bfloat16 pattern<__nv_bfloat16>(unsigned short bits) {
  return __ushort_as_bfloat16(bits);
}
__device__ __forceinline__ unsigned short bits_of(__half x) { return __half_as_ushort(x); }
__device__ __forceinline__ unsigned short bits_of(__nv_bfloat16 x) { return __bfloat16_as_ushort(x); }
__device__ __forceinline__ __half2 pair(__half a, __half b) { return __halves2half2(a, b); }
__device__ __forceinline__ __nv_bfloat162 pair(__nv_bfloat16 a, __nv_bfloat16 b) {
  return __halves2bfloat162(a, b);
}
__device__ __forceinline__ __half low(__half2 v) { return __low2half(v); }
__device__ __forceinline__ __half high(__half2 v) { return __high2half(v); }
__device__ __forceinline__ __nv_bfloat16 low(__nv_bfloat162 v) { return __low2bfloat16(v); }
__device__ __forceinline__ __nv_bfloat16 high(__nv_bfloat162 v) { return __high2bfloat16(v); }

struct Hexp {
  template <class H>
  static __device__ H of(H x, H) {
    return hexp(x);
  }
};
struct Hexp2 {
  template <class H>
  static __device__ H of(H x, H) {
    return hexp2(x);
  }
};
/// Tests each lane of a two-lane function, while the other lane has another argument. Lanes that disagree
/// give NaN, which is wrong for every finite argument.
template <class F>
struct BothLanes {
  template <class H>
  static __device__ H of(H x, H) {
    const H other = pattern<H>(0x3a12);
    const H a = low(F::of(pair(x, other))), b = high(F::of(pair(other, x)));
    return bits_of(a) == bits_of(b) ? a : pattern<H>(0x7fff);
  }
};
struct H2exp {
  template <class V>
  static __device__ V of(V v) {
    return h2exp(v);
  }
};
struct H2exp2 {
  template <class V>
  static __device__ V of(V v) {
    return h2exp2(v);
  }
};
struct Ex2ApproxHalf {
  static __device__ __half of(__half x, __half) {
    unsigned short y;
    asm("ex2.approx.f16 %0, %1;" : "=h"(y) : "h"(__half_as_ushort(x)));
    return __ushort_as_half(y);
  }
};
struct Ex2ApproxBfloat {
  static __device__ __nv_bfloat16 of(__nv_bfloat16 x, __nv_bfloat16) {
    unsigned short y = 0x7fff;
#if __CUDA_ARCH__ >= 900
    asm("ex2.approx.ftz.bf16 %0, %1;" : "=h"(y) : "h"(__bfloat16_as_ushort(x)));
#endif
    return __ushort_as_bfloat16(y);
  }
};
struct Hdiv {
  template <class H>
  static __device__ H of(H a, H b) {
    return __hdiv(a, b);
  }
};

template <class T, class F>
__global__ void __launch_bounds__(kThreads) apply(const T* a, const T* b, T* out, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step)
    out[i] = F::of(a[i], b[i]);
}

template <class T, class F>
void evaluate(const void* a, const void* b, void* out, std::int64_t n, void* stream) {
  const auto blocks = static_cast<unsigned>(n < (1 << 22) ? (n + kThreads - 1) / kThreads : 1 << 14);
  apply<T, F><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), n);
}

template <class F>
Function f32(const char* name, Truth truth, Space space = Space::all) {
  Function f;
  f.name = name;
  f.backend = Backend::cuda;
  f.truth = truth;
  f.space = space;
  f.evaluate = evaluate<float, F>;
  return f;
}
template <class H, class F>
Function half(const char* name, Truth truth, Space space = Space::all) {
  Function f = f32<Expf>(name, truth, space);
  f.dtype = std::is_same_v<H, __half> ? Dtype::f16 : Dtype::bf16;
  f.evaluate = evaluate<H, F>;
  return f;
}

}  // namespace

std::vector<Function> device_functions() {
  using H = __half;
  using B = __nv_bfloat16;
  std::vector<Function> list = {
      f32<Expf>("expf", Truth::exp),
      f32<FastExpf>("__expf", Truth::exp),
      f32<Exp2f>("exp2f", Truth::exp2),
      f32<Ex2Approx>("ex2.approx.f32", Truth::exp2),
      f32<Ex2ApproxFtz>("ex2.approx.ftz.f32", Truth::exp2),
      f32<Logf>("logf", Truth::log),
      f32<FastLogf>("__logf", Truth::log),
      f32<Reciprocal>("1/x", Truth::divide),
      f32<ReciprocalRn>("__frcp_rn", Truth::divide),
      f32<RcpApproxFtz>("rcp.approx.ftz.f32", Truth::divide),
      f32<Divide>("x/y", Truth::divide, Space::grid),
      f32<FastDivide>("__fdividef", Truth::divide, Space::grid),
      half<H, Hexp>("hexp", Truth::exp),
      half<H, Hexp2>("hexp2", Truth::exp2),
      half<H, BothLanes<H2exp>>("h2exp", Truth::exp),
      half<H, BothLanes<H2exp2>>("h2exp2", Truth::exp2),
      half<H, Ex2ApproxHalf>("ex2.approx.f16", Truth::exp2),
      half<H, Hdiv>("__hdiv", Truth::divide, Space::squares),
      half<B, Hexp>("hexp", Truth::exp),
      half<B, Hexp2>("hexp2", Truth::exp2),
      half<B, BothLanes<H2exp>>("h2exp", Truth::exp),
      half<B, BothLanes<H2exp2>>("h2exp2", Truth::exp2),
      half<B, Ex2ApproxBfloat>("ex2.approx.ftz.bf16", Truth::exp2),
      half<B, Hdiv>("__hdiv", Truth::divide, Space::squares),
  };
  for (Function& f : list) {
    const std::string name = f.name;
    f.flush = name.find(".ftz") != std::string::npos;
    f.division = name == "__fdividef";
  }
  return list;
}

}  // namespace assay::functions
