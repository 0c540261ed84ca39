// SPDX-License-Identifier: Apache-2.0
// A dense matrix of rows in one dtype: what inputs produce, what .npy files hold, what the oracle reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/formats.hpp"

namespace assay {

struct Tensor {
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0;
  std::int64_t V = 0;
  std::vector<std::byte> bytes;  // rows x V elements, C order, no padding

  Tensor() = default;
  Tensor(Dtype t, std::int64_t r, std::int64_t v)
      : dtype(t), rows(r), V(v), bytes(static_cast<std::size_t>(r * v) * size_of(t)) {}

  const std::byte* row(std::int64_t r) const {
    return bytes.data() + static_cast<std::size_t>(r * V) * size_of(dtype);
  }
  std::byte* row(std::int64_t r) { return bytes.data() + static_cast<std::size_t>(r * V) * size_of(dtype); }
  double at(std::int64_t r, std::int64_t j) const { return decode(dtype, load_bits(dtype, row(r), j)); }
  void set(std::int64_t r, std::int64_t j, double x) { store_bits(dtype, row(r), j, encode(dtype, x)); }
};

}  // namespace assay
