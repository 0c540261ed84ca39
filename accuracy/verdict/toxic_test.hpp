// SPDX-License-Identifier: Apache-2.0
// Outputs without a kernel, for tests: clearly wrong ones, correctly rounded ones, and the rows that they
// belong to.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/written_rows.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay::toxic {

class MadeOutputs final : public WrittenRows {
 public:
  MadeOutputs(const Variant& v, std::int64_t rows, std::int64_t V, std::vector<double> values)
      : problem_(problem_of(v, v.op, rows, V, 0, V)), values_(std::move(values)) {
    for (double& p : values_) p = round_to(v.out(), p);
  }
  const Problem& problem() const override { return problem_; }
  std::uint64_t value_bits(std::int64_t row, std::int64_t j) const override {
    return encode(problem_.out, values_[static_cast<std::size_t>(row * problem_.out_columns() + j)]);
  }
  bool has_values() const override { return true; }
  bool has_indices() const override { return false; }
  std::int64_t index(std::int64_t, std::int64_t) const override { return -1; }
  bool has_normalizer() const override { return false; }
  float m(std::int64_t) const override { return 0; }
  float d(std::int64_t) const override { return 0; }
  const std::vector<double>& values() const { return values_; }

 private:
  Problem problem_;
  std::vector<double> values_;
};

/// Inputs and exact results, computed once for all tests.
inline const Case& rows_of(const char* family, Dtype t, std::int64_t V, std::int64_t rows = 2) {
  static std::map<std::tuple<std::string, Dtype, std::int64_t, std::int64_t>, std::unique_ptr<Case>> made;
  auto& c = made[{family, t, V, rows}];
  if (c) return *c;
  c = std::make_unique<Case>(*find_family(family), t, V, rows, 1);
  return *c;
}

/// The value of one output.
using Value = double (*)(const Case& c, std::int64_t row, std::size_t j);
struct Toxic {
  const char* name;
  Value output;
};

/// All outputs of the variant's own op, rounded to its format.
inline MadeOutputs outputs_of(const Variant& v, const Case& c, Value of) {
  const Problem p = problem_of(v, v.op, c.rows(), c.V(), 0, c.V());
  std::vector<double> values;
  for (std::int64_t row = 0; row < c.rows(); ++row)
    for (std::int64_t j = 0; j < p.out_columns(); ++j)
      values.push_back(of(c, row, static_cast<std::size_t>(j)));
  return {v, c.rows(), c.V(), std::move(values)};
}

inline double exact(const Case& c, std::int64_t row, std::size_t j) {
  return 0.5 * (c.truth(row).lo[j] + c.truth(row).hi[j]);
}
/// The sum without every 256th term.
inline double without_a_thread(const RowTruth& t) {
  double lost = 0;
  for (std::size_t j = 255; j < t.x.size(); j += 256) lost += t.lo[j];
  return 1 - lost;
}
inline constexpr Toxic kToxic[] = {
    {"zeros", [](const Case&, std::int64_t, std::size_t) { return 0.0; }},
    {"1/V", [](const Case& c, std::int64_t, std::size_t) { return 1 / static_cast<double>(c.V()); }},
    {"one-hot",
     [](const Case& c, std::int64_t row, std::size_t j) {
       return static_cast<std::int64_t>(j) == c.truth(row).argmax ? 1.0 : 0.0;
     }},
    {"p/2", [](const Case& c, std::int64_t row, std::size_t j) { return exact(c, row, j) / 2; }},
    {"p/7", [](const Case& c, std::int64_t row, std::size_t j) { return exact(c, row, j) / 7; }},
    {"1.01 p", [](const Case& c, std::int64_t row, std::size_t j) { return 1.01 * exact(c, row, j); }},
    {"the next row's",
     [](const Case& c, std::int64_t row, std::size_t j) { return exact(c, (row + 1) % c.rows(), j); }},
    {"a sum without 1/256 of its terms",
     [](const Case& c, std::int64_t row, std::size_t j) {
       return exact(c, row, j) / without_a_thread(c.truth(row));
     }},
};

}  // namespace assay::toxic
