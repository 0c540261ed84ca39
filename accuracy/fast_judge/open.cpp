// SPDX-License-Identifier: Apache-2.0
#include "accuracy/fast_judge/open.hpp"

#include <fmt/format.h>

#include <cmath>

#include "accuracy/judge/judged_row.hpp"
#include "reference/oracle/fast_row.hpp"

namespace assay {
namespace {

/// The decoded outputs of one row, and everything that its checks need.
class OpenRow {
 public:
  OpenRow(const Claim& claim, const Terms& terms, const Outputs& o, std::int64_t row, const std::byte* probs)
      : claim_(claim), terms_(terms), out_(o.out), row_(row), probs_(probs) {}

  /// Runs all checks of the fast judge against these exact results. Undecided elements are listed in
  /// `undecided`.
  Tally judge(const RowTruth& t, ErrorStatistics& statistics, std::vector<std::int64_t>* undecided) const {
    const PreparedRow prepared = prepare_row(claim_, terms_, t, Op::softmax, 0);
    const RowBounds& bounds = *prepared.bounds;
    const RowCase row_case{&t, row_};
    Tally tally;
    const RowContext c{claim_, terms_,     out_,   out_, row_case, &bounds, &prepared.shift(),
                       tally,  statistics, nullptr};
    const double top = bounds.range_top;
    std::vector<double> values;
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(t.x.size()); ++j) {
      const std::uint64_t bits = load_bits(out_, probs_, j);
      const double g = decode(out_, bits);
      const std::int64_t before = tally.at(Check::element).undecided;
      judge_element(c, j, g, bits);
      if (undecided && tally.at(Check::element).undecided > before) undecided->push_back(j);
      tally.require(Check::range, g >= 0 && g <= top && !(bits & format(out_).sign_mask()));
      values.push_back(g);
    }
    judge_row_sum(c, values);
    return tally;
  }

  /// Runs only the element check, on one element. False while it is undecided.
  bool decides(const RowTruth& t, std::int64_t j, bool& passed) const {
    const PreparedRow prepared = prepare_row(claim_, terms_, t, Op::softmax, 0);
    const RowBounds& bounds = *prepared.bounds;
    const RowCase row_case{&t, row_};
    Tally tally;
    ErrorStatistics ignored;
    const RowContext c{claim_, terms_,  out_,   out_, row_case, &bounds, &prepared.shift(),
                       tally,  ignored, nullptr};
    const std::uint64_t bits = load_bits(out_, probs_, j);
    passed = judge_element(c, j, decode(out_, bits), bits);
    return tally.undecided() == 0;
  }

 private:
  const Claim& claim_;
  const Terms& terms_;
  Dtype out_;
  std::int64_t row_;
  const std::byte* probs_;
};

std::string detail(const Tally& tally) {
  for (Check c : {Check::element, Check::special, Check::range, Check::row_sum})
    if (tally.at(c).failed > 0)
      return fmt::format("{}{}{}", name(c), tally.at(c).detail.empty() ? "" : ": ", tally.at(c).detail);
  return {};
}

void fill(FastJudgement& j, const Tally& tally, const ErrorStatistics& s) {
  // An element that is still undecided does not pass.
  j.failed = tally.failed() + tally.undecided();
  if (j.failed > 0) j.first_failure = detail(tally);
  for (float ulp : s.ulp) j.statistics.max_ulp = std::max(j.statistics.max_ulp, ulp);
  j.statistics.sum_ulp = s.sum_ulp;
  j.statistics.correctly_rounded = s.correctly_rounded;
  for (Check c : {Check::element, Check::row_sum})
    j.statistics.utilisation = std::max(j.statistics.utilisation, tally.at(c).utilisation);
}

}  // namespace

FastJudgement judge_open_row(const Claim& claim, const Terms& terms, const Outputs& o, std::int64_t row,
                             const std::byte* logits, const std::byte* probs, std::int64_t open) {
  FastJudgement j;
  j.open = open;
  j.rows_open = 1;
  OracleOptions options;
  options.tier = Tier::fast;
  RowTruth t = row_truth(o.in, logits, o.V, o.out, options);
  if (t.kind != RowKind::finite && t.kind != RowKind::masked) {
    j.open = 0;
    j.unjudged = o.V;
    return j;
  }
  j.elements = o.V;
  const OpenRow open_row(claim, terms, o, row, probs);
  ErrorStatistics s;
  std::vector<std::int64_t> undecided;
  Tally tally = open_row.judge(t, s, &undecided);
  j.by_mpfr = static_cast<std::int64_t>(undecided.size());
  bool all_decided = tally.at(Check::row_sum).undecided == 0;
  for (std::int64_t column : undecided) {
    refine(t, static_cast<std::size_t>(column));
    bool passed = false;
    if (open_row.decides(t, column, passed)) {
      tally.at(Check::element).failed += !passed;
      --tally.at(Check::element).undecided;
    } else {
      all_decided = false;
    }
  }
  if (!all_decided) {
    s = {};
    tally = open_row.judge(row_truth(o.in, logits, o.V, o.out), s, nullptr);
  }
  fill(j, tally, s);
  return j;
}

FastJudgement judge_row_by_mpfr(const Claim& claim, const Terms& terms, const Outputs& o, std::int64_t row,
                                const std::byte* logits, const std::byte* probs) {
  FastJudgement j;
  const RowTruth t = row_truth(o.in, logits, o.V, o.out);
  if (t.kind != RowKind::finite && t.kind != RowKind::masked) {
    j.unjudged = o.V;
    return j;
  }
  j.elements = o.V;
  ErrorStatistics s;
  fill(j, OpenRow(claim, terms, o, row, probs).judge(t, s, nullptr), s);
  return j;
}

}  // namespace assay
