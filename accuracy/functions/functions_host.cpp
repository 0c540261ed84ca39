// SPDX-License-Identifier: Apache-2.0
// The host's functions under test: glibc's, the host executor's versions of CUDA's functions, and the peers
// Eigen and SLEEF (each in its own file, compiled for AVX2).
#include <cmath>

#include "accuracy/functions/functions.hpp"
#include "accuracy/functions/packets.hpp"
#include "kernels/device.hpp"

#define ASSAY_BACKEND host_functions
#include "kernels/host/cuda_core.hpp"

namespace assay::functions {
namespace {

namespace words = assay::host_functions;
using words::__half;
using words::__nv_bfloat16;

template <class T, auto f>
void one(const void* a, const void*, void* out, std::int64_t n, void*) {
  const T* x = static_cast<const T*>(a);
  T* y = static_cast<T*>(out);
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}
template <class T, auto f>
void two(const void* a, const void* b, void* out, std::int64_t n, void*) {
  const T* x = static_cast<const T*>(a);
  const T* z = static_cast<const T*>(b);
  T* y = static_cast<T*>(out);
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i], z[i]);
}

constexpr auto quotient = [](float a, float b) { return a / b; };

void reciprocal(const void*, const void* b, void* out, std::int64_t n, void*) {
  const auto* x = static_cast<const float*>(b);
  auto* y = static_cast<float*>(out);
  for (std::int64_t i = 0; i < n; ++i) y[i] = 1.0f / x[i];
}

}  // namespace

std::vector<Function> libm_functions() {
  using enum Dtype;
  using enum Truth;
  constexpr auto host = Backend::host;
  return {
      {"expf", f32, host, exp, Space::all, one<float, [](float x) { return ::expf(x); }>},
      {"__expf", f32, host, exp, Space::all, one<float, [](float x) { return words::__expf(x); }>},
      {"exp2f", f32, host, exp2, Space::all, one<float, [](float x) { return ::exp2f(x); }>},
      {"logf", f32, host, log, Space::all, one<float, [](float x) { return ::logf(x); }>},
      {"1/x", f32, host, Truth::divide, Space::all, reciprocal},
      {"x/y", f32, host, Truth::divide, Space::grid, two<float, quotient>},
      {.name = "__fdividef",
       .truth = Truth::divide,
       .space = Space::grid,
       .evaluate = two<float, [](float a, float b) { return words::__fdividef(a, b); }>,
       .division = true},
      {"hexp", f16, host, exp, Space::all, one<__half, [](__half x) { return hexp(x); }>},
      {"hexp2", f16, host, exp2, Space::all, one<__half, [](__half x) { return hexp2(x); }>},
      {"__hdiv", f16, host, Truth::divide, Space::squares,
       two<__half, [](__half a, __half b) { return __hdiv(a, b); }>},
      {"hexp", bf16, host, exp, Space::all, one<__nv_bfloat16, [](__nv_bfloat16 x) { return hexp(x); }>},
      {"hexp2", bf16, host, exp2, Space::all, one<__nv_bfloat16, [](__nv_bfloat16 x) { return hexp2(x); }>},
      {"__hdiv", bf16, host, Truth::divide, Space::squares,
       two<__nv_bfloat16, [](__nv_bfloat16 a, __nv_bfloat16 b) { return __hdiv(a, b); }>},
  };
}

std::vector<Function> packet_functions() {
  std::vector<Function> all = {{.name = "Eigen exp", .evaluate = evaluate_eigen_exp}};
#if defined(ASSAY_WITH_SLEEF)
  all.push_back({.name = "Sleef_expf8_u10", .evaluate = evaluate_sleef_exp});
  // Its code is for AVX2; where the CPU has none, that is said first.
  if (__builtin_cpu_supports("avx2")) all.back().missing = sleef_missing();
#else
  all.push_back({.name = "Sleef_expf8_u10", .missing = "SLEEF is called on x86-64 alone"});
#endif
  return all;
}

#if !defined(ASSAY_WITH_CUDA)
std::vector<Function> device_functions() { return {}; }
#endif

const std::vector<Function>& functions() {
  static const std::vector<Function> all = [] {
    std::vector<Function> list = device_functions();
    const std::string no_gpu = unavailable_reason(Backend::cuda);
    for (Function& f : list) f.missing = no_gpu;
      // The host's judge and its packets are compiled for AVX2 and FMA (functions.cmake).
#if defined(__x86_64__)
    const bool vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    const bool vectors = true;
#endif
    for (auto part : {libm_functions(), packet_functions()})
      for (Function& f : part) {
        if (!vectors) f.missing = "this CPU has no AVX2 and FMA";
        list.push_back(f);
      }
    return list;
  }();
  return all;
}

}  // namespace assay::functions
