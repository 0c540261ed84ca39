// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "accuracy/probes/probes.hpp"
#include "accuracy/verdict/verdict.hpp"

namespace assay {
namespace {

/// A raised logit is this far above the row's maximum: a single one outweighs 2^24 others.
constexpr double kRaised = 20;

/// In so many parts the columns are divided in each step.
constexpr std::size_t kParts = 4;

/// Less than this is roundings, not a term.
constexpr double kSmallest = 0x1p-22;

struct Columns {
  std::int64_t from = 0, to = 0;
};

/// By how much more than 1 the row's sum has lost: the sum of all outputs is (exact sum) / (computed sum).
/// NaN where the outputs do not tell it.
double excess(const Variant& v, const probe::Output& got, const Tensor& logits, std::int64_t row) {
  double all = 0, top = -INFINITY, sum = 0;
  for (std::int64_t j = 0; j < logits.V; ++j) top = std::max(top, logits.at(row, j));
  switch (v.op) {
    case Op::softmax:
      for (std::int64_t j = 0; j < logits.V; ++j) all += got.at(row, j);
      return all - 1;
    case Op::log_softmax:
      for (std::int64_t j = 0; j < logits.V; ++j) all += std::exp(got.at(row, j));
      return all - 1;
    case Op::lse:
      for (std::int64_t j = 0; j < logits.V; ++j) sum += std::exp(logits.at(row, j) - top);
      return sum / std::exp(got.at(row, 0) - top) - 1;
    default:
      return NAN;
  }
}

}  // namespace

std::optional<RaisedColumn> raised_column(const Variant& variant, const Tensor& logits, std::int64_t at_least,
                                          const std::function<bool(const Tensor& rows)>& fails) {
  const Dtype t = logits.dtype;
  double top = -INFINITY;
  for (std::int64_t j = 0; j < logits.V; ++j) top = std::max(top, logits.at(0, j));
  if (!std::isfinite(top)) return {};
  // All columns of a part are raised by the same amount, so that its terms keep their shares.
  const auto raise = [&](Tensor& rows, std::int64_t row, Columns c) {
    for (std::int64_t j = 0; j < logits.V; ++j) {
      const double x = logits.at(0, j);
      rows.set(row, j, j < c.from || j >= c.to ? x : round_to(t, x + kRaised));
    }
  };
  Columns left{0, logits.V};
  for (double before = kSmallest; left.to - left.from > 1;) {
    std::array<Columns, kParts> parts;
    for (std::size_t p = 0; p < kParts; ++p) {
      const auto at = [&](std::size_t n) {
        return left.from + (left.to - left.from) * static_cast<std::int64_t>(n) / std::int64_t{kParts};
      };
      parts[p] = {at(p), at(p + 1)};
    }
    Tensor rows(t, kParts, logits.V);
    for (std::size_t p = 0; p < kParts; ++p) raise(rows, static_cast<std::int64_t>(p), parts[p]);
    const probe::Output got = probe::launch_on(variant, rows, 1, {}, at_least);
    if (!got.skipped.empty() || !got.fault.empty()) return {};
    std::size_t most = kParts;
    double largest = 0;
    for (std::size_t p = 0; p < kParts; ++p)
      if (const double e = excess(variant, got, rows, static_cast<std::int64_t>(p));
          parts[p].from < parts[p].to && e > largest)
        most = p, largest = e;
    // The fewer columns are raised, the more of their sum a missing one is.
    if (most == kParts || !(largest >= before)) return {};
    before = std::min(0.5 * largest, 1.0);
    left = parts[most];
  }
  Tensor rows(t, std::max<std::int64_t>(1, at_least), logits.V);
  const double raised = round_to(t, top + kRaised);
  for (std::int64_t row = 0; row < rows.rows; ++row)
    for (std::int64_t j = 0; j < logits.V; ++j) rows.set(row, j, j == left.from ? raised : logits.at(0, j));
  if (!fails(rows)) return {};
  const probe::Output got = probe::launch_on(variant, rows, 1);
  // A sum that holds the raised term is short of it by no more than the others together.
  const bool left_out = got.fault.empty() && got.skipped.empty() && excess(variant, got, rows, 0) >= 1;
  return RaisedColumn{
      left.from, left_out,
      left_out ? fmt::format(
                     "column {} is left out of the sum: with that logit at {:g}, {:g} above all others, the "
                     "sum does not hold its term",
                     left.from, raised, raised - top)
               : fmt::format("the same row with the logit of column {} at {:g} fails as a serial sum too",
                             left.from, raised)};
}

}  // namespace assay
