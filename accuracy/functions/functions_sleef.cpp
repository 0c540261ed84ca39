// SPDX-License-Identifier: Apache-2.0
// SLEEF's vector exponential of 1.0 ulp, AVX2. The library is opened when it is asked for: it is a peer to be
// measured, and no program needs it.
#include <dlfcn.h>
#include <immintrin.h>

#include <cstdint>

#include "accuracy/functions/packets.hpp"

namespace assay::functions {
namespace {

using Exp8 = __m256 (*)(__m256);

Exp8 exp8() {
  static const Exp8 function = [] {
    void* const library = dlopen("libsleef.so.3", RTLD_NOW | RTLD_LOCAL);
    return library ? reinterpret_cast<Exp8>(dlsym(library, "Sleef_expf8_u10avx2")) : nullptr;
  }();
  return function;
}

}  // namespace

const char* sleef_missing() { return exp8() ? "" : "libsleef.so.3, of SLEEF, is not on this machine"; }

void evaluate_sleef_exp(const void* a, const void*, void* out, std::int64_t n, void*) {
  const Exp8 exp = exp8();
  const auto* x = static_cast<const float*>(a);
  auto* y = static_cast<float*>(out);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, exp(_mm256_loadu_ps(x + i)));
  if (i == n) return;
  alignas(32) float rest[8] = {};
  for (std::int64_t j = i; j < n; ++j) rest[j - i] = x[j];
  _mm256_store_ps(rest, exp(_mm256_load_ps(rest)));
  for (std::int64_t j = i; j < n; ++j) y[j] = rest[j - i];
}

}  // namespace assay::functions
