// SPDX-License-Identifier: Apache-2.0
// Eigen's packet exponential, always compiled for AVX2 and FMA. The namespace is renamed, so that the linker
// can never use these instantiations for those of another file with other packets.
#define Eigen assay_eigen_avx2
#include <Eigen/Core>
#include <cstdint>

namespace assay::functions {

void evaluate_eigen_exp(const void* a, const void*, void* out, std::int64_t n, void*) {
  using Row = Eigen::Array<float, Eigen::Dynamic, 1>;
  using Packet = Eigen::Array<float, 8, 1>;
  const auto* x = static_cast<const float*>(a);
  auto* y = static_cast<float*>(out);
  const std::int64_t whole = n / 8 * 8;
  Eigen::Map<Row>(y, whole) = Eigen::Map<const Row>(x, whole).exp();
  // The rest is computed as a packet too: Eigen would use the C library's exp for it.
  Packet rest = Packet::Zero();
  for (std::int64_t i = whole; i < n; ++i) rest[i - whole] = x[i];
  rest = rest.exp().eval();
  for (std::int64_t i = whole; i < n; ++i) y[i] = rest[i - whole];
}

}  // namespace assay::functions
