// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of families and of the plan: rows by family name, and the values of a row.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/inputs/inputs.hpp"

namespace assay::inputs_test {

inline const Family& family(const char* name) {
  const Family* f = find_family(name);
  if (!f) throw std::logic_error(std::string("no family ") + name);
  return *f;
}

inline Tensor rows_of(const char* name, Dtype t, std::int64_t V, std::int64_t rows, std::uint64_t seed = 0) {
  return make_input(family(name), t, V, rows, seed);
}

// The rows that the report runs: every case below V = 2048.
inline Tensor plan_of(const char* name, Dtype t, std::int64_t V) {
  return rows_of(name, t, V, report_rows(family(name), t, V, false));
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  const std::size_t n = std::min(a.bytes.size(), b.bytes.size());
  return std::memcmp(a.bytes.data(), b.bytes.data(), n) == 0;
}

inline std::vector<double> values(const Tensor& t, std::int64_t row) {
  std::vector<double> v;
  for (std::int64_t i = 0; i < t.V; ++i) v.push_back(t.at(row, i));
  return v;
}

inline double highest(const Tensor& t, std::int64_t row) {
  double m = -kInf;
  for (double x : values(t, row)) m = std::max(m, x);
  return m;
}

}  // namespace assay::inputs_test
