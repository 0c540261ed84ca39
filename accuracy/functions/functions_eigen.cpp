// Eigen's packet exponential, compiled for AVX2 and FMA whatever the rest of the build is. The namespace is
// renamed so that these instantiations can never stand in for those of another file with other packets.
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
  // The rest too as a packet: Eigen would take the C library's exp for it.
  Packet rest = Packet::Zero();
  for (std::int64_t i = whole; i < n; ++i) rest[i - whole] = x[i];
  rest = rest.exp().eval();
  for (std::int64_t i = whole; i < n; ++i) y[i] = rest[i - whole];
}

}  // namespace assay::functions
