// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "accuracy/verdict/checker.hpp"

namespace assay {
namespace {

/// Rows fetched from a rig.
class FetchedRows final : public WrittenRows {
 public:
  FetchedRows(Rig& rig, const Problem& whole, const std::vector<std::int64_t>& rows) : problem_(whole) {
    problem_.rows = static_cast<std::int64_t>(rows.size());
    const std::size_t row = value_bytes(), indices = index_bytes();
    values_.resize(rows.size() * row);
    indices_.resize(rows.size() * indices);
    for (std::size_t i = 0; i < rows.size(); ++i)
      rig.fetch(rows[i], row > 0 ? values_.data() + i * row : nullptr,
                indices > 0 ? indices_.data() + i * indices : nullptr);
  }

  const Problem& problem() const override { return problem_; }
  std::uint64_t value_bits(std::int64_t row, std::int64_t j) const override {
    return load_bits(problem_.out, values_.data(), row * problem_.out_columns() + j);
  }
  bool has_values() const override { return !values_.empty(); }
  bool has_indices() const override { return !indices_.empty(); }
  std::int64_t index(std::int64_t row, std::int64_t r) const override {
    const std::int64_t at = row * problem_.k + r;
    if (problem_.index_bytes() == 8) return reinterpret_cast<const std::int64_t*>(indices_.data())[at];
    return reinterpret_cast<const std::int32_t*>(indices_.data())[at];
  }
  bool has_normalizer() const override { return false; }
  float m(std::int64_t) const override { return 0; }
  float d(std::int64_t) const override { return 0; }

 private:
  std::size_t value_bytes() const {
    return static_cast<std::size_t>(problem_.out_columns()) * size_of(problem_.out);
  }
  std::size_t index_bytes() const {
    return selects(problem_.op) ? static_cast<std::size_t>(problem_.k * problem_.index_bytes()) : 0;
  }

  Problem problem_;
  std::vector<std::byte> values_, indices_;
};

Verification judge_all(Rig& rig) {
  std::int64_t open_rows = 0;
  const FastJudgement j = rig.judge(kSecondLookSeconds, open_rows);
  return verification_of(j, open_rows);
}

Verification sample_judged(const Variant& variant, const Case& c, const Problem& p,
                           const FetchedRows& written) {
  const Record r = judge_written(variant, c, p.op, p.pick(), written);
  Verification v;
  v.max_ulp = r.max_ulp;
  v.max_utilisation = r.max_bound_ratio;
  v.elements = r.rows_judged * p.out_columns();
  v.reason = r.reason;
  if (r.status == Status::pass) {
    v.verdict = "pass";
    if (r.rows_judged < p.rows) v.reason = fmt::format("{} of {} rows judged", r.rows_judged, p.rows);
  } else if (r.status == Status::fail) {
    v.verdict = "fail";
    for (const CheckResult& check : r.checks)
      if (check.failed > 0 && !check.detail.empty()) {
        v.reason += ": " + check.detail;
        break;
      }
  }
  return v;
}

std::function<Verification()> take_sample(Rig& rig, const Variant& variant, const Problem& p,
                                          SweepInputs& inputs) {
  const std::shared_ptr<const Case> sample = inputs.sample(p.in, p.V, p.rows);
  const Case& c = *sample;
  const std::int64_t distinct = inputs.distinct_rows(p.V, p.rows);
  // Every other row is from the end, where the tile is repeated last: kernels tend to forget rows at a grid's
  // end.
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < c.rows(); ++i)
    rows.push_back(i % 2 == 0 ? i : i + (p.rows - 1 - i) / distinct * distinct);
  const auto written = std::make_shared<const FetchedRows>(rig, p, rows);
  return [&variant, sample, p, written] { return sample_judged(variant, *sample, p, *written); };
}

}  // namespace

Verification verification_of(const FastJudgement& j, std::int64_t open_rows) {
  Verification v;
  v.elements = j.elements;
  if (j.elements > 0) {
    v.max_ulp = static_cast<double>(j.statistics.max_ulp);
    v.max_utilisation = j.statistics.utilisation;
  }
  if (j.failed > 0) {
    v.verdict = "fail";
    v.reason = j.first_failure;
  } else if (open_rows > 0) {
    v.reason = fmt::format(
        "{} rows could not be judged within {} s: special ones, or too many elements near their bound",
        open_rows, kSecondLookSeconds);
  } else if (j.elements == 0) {
    v.reason = "no row has a bound to be judged by";
  } else {
    v.verdict = "pass";
    if (j.unjudged > 0) v.reason = fmt::format("{} elements of special rows not judged", j.unjudged);
  }
  return v;
}

Judging begin_verification(Rig& rig, const Variant& variant, const Problem& p, SweepInputs& inputs) {
  const bool all = p.op == Op::softmax && p.in == p.out && p.V <= std::int64_t{1} << 25 &&
                   fast_judge_unsupported(variant.claim, p.in, p.out).empty();
  if (all) return {judge_all(rig), {}};
  return {{}, take_sample(rig, variant, p, inputs)};
}

Verification verify_outputs(Rig& rig, const Variant& variant, const Problem& p, SweepInputs& inputs) {
  return begin_verification(rig, variant, p, inputs).result();
}

Verification combined(const Verification& a, const Verification& b) {
  Verification v = b.verdict == "pass" ? a : b;
  if (a.verdict == "fail") v = a;
  const auto larger = [](std::optional<double> x, std::optional<double> y) {
    return x && y ? std::optional<double>(std::max(*x, *y)) : x ? x : y;
  };
  v.elements = a.elements + b.elements;
  v.max_ulp = larger(a.max_ulp, b.max_ulp);
  v.max_utilisation = larger(a.max_utilisation, b.max_utilisation);
  return v;
}

}  // namespace assay
