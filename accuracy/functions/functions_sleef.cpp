// SPDX-License-Identifier: Apache-2.0
// SLEEF's vector exponential of 1.0 ulp, AVX2.
#include <immintrin.h>
#include <sleef.h>

#include <cstdint>

namespace assay::functions {

void evaluate_sleef_exp(const void* a, const void*, void* out, std::int64_t n, void*) {
  const auto* x = static_cast<const float*>(a);
  auto* y = static_cast<float*>(out);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, Sleef_expf8_u10avx2(_mm256_loadu_ps(x + i)));
  if (i == n) return;
  alignas(32) float rest[8] = {};
  for (std::int64_t j = i; j < n; ++j) rest[j - i] = x[j];
  _mm256_store_ps(rest, Sleef_expf8_u10avx2(_mm256_load_ps(rest)));
  for (std::int64_t j = i; j < n; ++j) y[j] = rest[j - i];
}

}  // namespace assay::functions
