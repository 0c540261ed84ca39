// SPDX-License-Identifier: Apache-2.0
// The temperature of a row, where a sampler has one. The selection does not need it: dividing by a positive
// number keeps the order of the logits. So only the exps of what was selected are taken of (x - m) / t.
#pragma once

#include "kernels/building_blocks/reduce.cuh"
#include "reference/operands.hpp"

namespace assay::ASSAY_BACKEND::onepass {

/// Exps are of logit(x, m) - maximum(m), here x - m.
struct NoTemperature {
  static constexpr std::uint32_t operands = 0;
  __device__ __forceinline__ NoTemperature(const float*, std::int64_t) {}
  __device__ __forceinline__ float logit(float x, float) const { return x; }
  __device__ __forceinline__ float maximum(float m) const { return m; }
  __device__ __forceinline__ bool makes_nan() const { return false; }
};

/// (x - m) / t - 0. A row has a temperature of its own; 1 if the call has none.
struct Temperature {
  static constexpr std::uint32_t operands = operand::temperatures;
  float t;
  __device__ __forceinline__ Temperature(const float* temperatures, std::int64_t row)
      : t(temperatures ? temperatures[row] : 1.0f) {}
  __device__ __forceinline__ float logit(float x, float m) const { return (x - m) / t; }
  __device__ __forceinline__ float maximum(float) const { return 0.0f; }
  /// True of 0 and NaN: the maximum's own exp is NaN.
  __device__ __forceinline__ bool makes_nan() const { return t == 0.0f || t != t; }
};

/// The exp of a logit of the row.
template <class E, class Tempering>
__device__ __forceinline__ float exp_of(const Tempering& by, float x, float m) {
  return E::of(by.logit(x, m) - by.maximum(m));
}

}  // namespace assay::ASSAY_BACKEND::onepass
