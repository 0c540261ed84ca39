// SPDX-License-Identifier: Apache-2.0
#include "accuracy/bounds/head_and_tail.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace assay {
namespace {

class HeadAndTail {
 public:
  HeadAndTail(const Terms& t, const RowTruth& row, double h, const std::vector<double>& grown, double share,
              const AbsoluteErrors& errors)
      : t_(t), row_(row), errors_(errors), lam_u_(lam(t.u)), h_(h) {
    for (const std::int32_t position : row.order) {
      const auto i = static_cast<std::size_t>(position);
      if (!std::isfinite(row.d[i])) break;
      add(row.lo[i], row.hi[i] + grown[i], errors.of(i));
    }
    if (share > 0 && !least_.empty())
      add(share * (1 - 0x1p-40), share * (1 + growth(lam_u_)), errors.epsilon);
  }

  std::vector<double> bounds() const {
    std::vector<double> found;
    const std::size_t n = least_.size();
    const bool rescaled = t_.online || t_.kept;
    std::vector<double> tails(n + 1, 0);  // from the smallest term up: a difference of sums would lose it
    for (std::size_t i = n; i > 0; --i) tails[i - 1] = tails[i] + own_[i - 1];
    for (std::size_t wanted = 1; wanted < n; wanted *= 2) {
      const std::size_t r = rescaled ? with_equals(wanted) : wanted;
      const double heads = least_[r - 1], q = 1 - heads;
      if (r == n || !(q < 1)) continue;
      const double among_heads = std::min(static_cast<double>(r - 1), h_) * lam_u_;
      const double of_heads = absolute_[r - 1], of_all = absolute_[n - 1];
      const double tail = tails[r] + (rescaled ? (t_.flush > 0 ? 4 : 2) * of_all : of_all - of_heads);
      const double above =
          std::log(most_[r - 1] + (rescaled ? 0 : of_heads) + 2 * tail * std::exp(h_ * lam_u_)) + among_heads;
      const double alone = std::log(std::max(most_[r - 1], heads)) + among_heads + lam(std::max(0.0, q));
      const double below =
          alone + lam(std::max(0.0, q)) + lam(errors_.rescales * of_heads / heads * std::exp(2 * alone));
      // The error of the plain sums here is added.
      found.push_back(std::max(above, below) + static_cast<double>(n) * 0x1p-51);
    }
    return found;
  }

 private:
  void add(double least, double most, double absolute) {
    const bool first = least_.empty();
    own_.push_back(most);
    least_.push_back((first ? 0 : least_.back()) + least);
    most_.push_back((first ? 0 : most_.back()) + most);
    absolute_.push_back((first ? 0 : absolute_.back()) + absolute);
  }
  /// So many terms, and those that equal the last of them.
  std::size_t with_equals(std::size_t r) const {
    const auto logit = [&](std::size_t k) { return row_.x[static_cast<std::size_t>(row_.order[k])]; };
    while (r < least_.size() && r < row_.order.size() && logit(r) == logit(r - 1)) ++r;
    return r;
  }

  const Terms& t_;
  const RowTruth& row_;
  const AbsoluteErrors& errors_;
  double lam_u_, h_;
  std::vector<double> own_;                      // of each term: p e^e0
  std::vector<double> least_, most_, absolute_;  // of the first 1, 2, ... terms: sum p, sum p e^e0, errors
};

}  // namespace

std::vector<double> by_heads(const Terms& t, const RowTruth& row, double h, const std::vector<double>& grown,
                             double share, const AbsoluteErrors& errors) {
  return HeadAndTail(t, row, h, grown, share, errors).bounds();
}

double by_depth(const Terms& t, const RowTruth& row, double h, const std::vector<double>& grown,
                double share) {
  const double lam_u = lam(t.u);
  double excess = share * growth((h + 1) * lam_u);
  std::vector<double> weights;
  for (std::size_t i = 0; i < grown.size(); ++i) {
    if (!std::isfinite(row.d[i])) continue;
    excess += grown[i];
    weights.push_back(row.hi[i] + grown[i]);
  }
  std::ranges::sort(weights, std::ranges::greater());
  const auto leaves = static_cast<double>(row.finite + (share > 0));
  for (std::size_t k = 1; k <= weights.size(); ++k)
    excess += weights[k - 1] *
              growth(std::min(h, leaves - static_cast<double>(k) + std::floor(std::log2(k))) * lam_u);
  return std::log1p(excess);
}

}  // namespace assay
