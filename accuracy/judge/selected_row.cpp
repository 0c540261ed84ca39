// SPDX-License-Identifier: Apache-2.0
#include "accuracy/judge/selected_row.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace assay {
bool same_rank(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool ignored(const Claim& claim, double logit) {
  return std::isnan(logit) && claim.policy.nan_order == NanOrder::ignored;
}

std::int64_t selectable(const Claim& claim, const RowTruth& row) {
  return std::count_if(row.x.begin(), row.x.end(), [&](double logit) { return !ignored(claim, logit); });
}

std::int32_t ranked(const Claim& claim, const RowTruth& row, std::int64_t r) {
  const auto n = static_cast<std::int64_t>(row.order.size());
  const auto logit = [&](std::int64_t i) {
    return row.x[static_cast<std::size_t>(row.order[static_cast<std::size_t>(i)])];
  };
  std::int64_t at = r;
  if (claim.policy.nan_order == NanOrder::first) {
    std::int64_t nans = 0;
    while (nans < n && std::isnan(logit(n - 1 - nans))) ++nans;
    at = (r - nans + n) % n;
  }
  if (claim.ties == Ties::larger_index) {
    // Mirrors the position within its run of equal logits.
    std::int64_t first = at, last = at;
    while (first > 0 && same_rank(logit(first - 1), logit(at))) --first;
    while (last + 1 < n && same_rank(logit(last + 1), logit(at))) ++last;
    at = first + last - at;
  }
  return row.order[static_cast<std::size_t>(at)];
}

RowTruth truth_of_selected(const RowTruth& row, std::span<const std::int64_t> positions) {
  std::vector<float> logits;
  std::vector<double> slack;
  for (const std::int64_t position : positions) {
    const auto i = static_cast<std::size_t>(position);
    logits.push_back(static_cast<float>(row.x[i]));  // exact: no judged dtype is wider
    if (!row.slack.empty()) slack.push_back(row.slack[i]);
  }
  OracleOptions options;
  options.tier = row.bits > 53 ? Tier::mpfr : Tier::fast;
  RowTruth t = row_truth(Dtype::f32, logits.data(), std::ssize(logits), Dtype::f32, options);
  t.rounded.clear();
  t.undecided = 0;  // of those roundings
  t.slack = std::move(slack);
  return t;
}

RowTruth selected_truth(const Claim& claim, const RowTruth& row, int k) {
  std::vector<std::int64_t> positions(
      static_cast<std::size_t>(std::min<std::int64_t>(k, selectable(claim, row))));
  for (std::size_t r = 0; r < positions.size(); ++r)
    positions[r] = ranked(claim, row, static_cast<std::int64_t>(r));
  return truth_of_selected(row, positions);
}

}  // namespace assay
