// SPDX-License-Identifier: Apache-2.0
// Sweeps the division of a row by one divisor (kernels/building_blocks/row_divisor.cuh) over every pair of
// f32 mantissas, on the GPU. Mantissas are enough, because scaling by powers of two is exact in the range
// that the kernels use.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

struct QuotientSweep {
  std::string status;                        // pass, fail, not_run
  std::string reason;                        // of not_run
  std::int64_t divisors = 0;                 // mantissas tried, each with all 2^23 numerators
  std::int64_t wrong = 0;                    // quotients that are not correctly rounded
  std::uint32_t divisor = 0, numerator = 0;  // mantissa bits of one of them
  double seconds = 0;
};

inline constexpr std::int64_t kMantissas = std::int64_t{1} << 23;

/// Every stride-th divisor on this process's GPU; not_run where there is none.
QuotientSweep sweep_quotients(std::int64_t stride);

/// The device's half. `ulp_off` is added to each reciprocal: a planted fault that the sweep must find. Throws
/// std::runtime_error with CUDA's message.
QuotientSweep sweep_quotients_on_device(std::int64_t stride, int ulp_off = 0);

}  // namespace assay
