// SPDX-License-Identifier: Apache-2.0
#include "accuracy/search/utilisation_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/judge/judged_row.hpp"
#include "accuracy/verdict/checker.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

constexpr int kSearchK = 5;         // of top-k kernels
constexpr std::size_t kBatch = 16;  // rows of one launch
constexpr int kPatience = 6;        // launches without a gain before the search moves on

using Row = std::vector<double>;  // logits, each a value of the dtype

class SearchRandom {
 public:
  explicit SearchRandom(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

std::uint64_t hash(std::uint64_t h, std::string_view s) {
  for (char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

/// Launches rows of one length and judges each row separately.
class RowEvaluator {
 public:
  RowEvaluator(const Variant& variant, std::int64_t V)
      : variant_(variant), V_(V), terms_(terms_of(variant.claim, variant.backend, variant.out(), V)) {}

  std::vector<RowShares> operator()(std::span<const Row> rows) const {
    std::vector<RowShares> out(rows.size());
    Tensor logits(variant_.dtype, static_cast<std::int64_t>(rows.size()), V_);
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::int64_t j = 0; j < V_; ++j)
        logits.set(static_cast<std::int64_t>(r), j, rows[r][static_cast<std::size_t>(j)]);
    GuardedLaunch run(
        variant_, problem_of(variant_, variant_.op, logits.rows, V_, selects(variant_.op) ? kSearchK : 0, V_),
        logits, plain_layout());
    if (const LaunchOutcome outcome = run.run(); !outcome.ok()) {
      out[0].violation = "launch: " + outcome.fault;
      return out;
    }
    for (std::size_t r = 0; r < rows.size(); ++r) {
      out[r] = judge(run, logits, static_cast<std::int64_t>(r), Tier::fast);
      // If fp64 enclosures leave something open, or refute it, MPFR decides.
      if (!out[r].violation.empty() || *std::max_element(out[r].share.begin(), out[r].share.end()) >= 1)
        out[r] = judge(run, logits, static_cast<std::int64_t>(r), Tier::mpfr);
    }
    return out;
  }

 private:
  RowShares judge(const GuardedLaunch& run, const Tensor& logits, std::int64_t row, Tier tier) const {
    RowShares result;
    OracleOptions options;
    options.tier = tier;
    const RowTruth truth = row_truth(variant_.dtype, logits.row(row), V_, variant_.dtype, options);
    if (truth.kind != RowKind::finite && truth.kind != RowKind::masked) return result;
    const PreparedRow prepared = prepare_row(variant_.claim, terms_, truth, variant_.op, run.problem().k);
    if (!prepared.outside.empty()) return result;
    std::vector<double> values;
    std::vector<std::uint64_t> bits;
    std::vector<std::int64_t> indices;
    for (std::int64_t j = 0; j < run.problem().out_columns(); ++j) {
      bits.push_back(run.value_bits(row, j));
      values.push_back(decode(variant_.out(), bits.back()));
      if (run.has_indices()) indices.push_back(run.index(row, j));
    }
    double least = 1, least_d = 0;
    const RowTruth& exact = prepared.truth(truth);
    for (std::size_t j = 0; j < exact.x.size(); ++j)
      if (!std::isinf(exact.x[j]))
        least = std::min(least, exact.lo[j]), least_d = std::min(least_d, exact.d[j]);
    result.normal_terms = std::exp(least_d + (terms_.shifted ? 0 : exact.m)) >= min_normal(terms_.arithmetic);
    result.normal_outputs = result.normal_terms && (logs_ || least >= min_normal(variant_.out()));
    RowOutput got{values, bits, indices, run.has_normalizer(), 0, 0};
    if (got.has_normalizer) {
      got.m = static_cast<double>(run.m(row));
      got.d = static_cast<double>(run.d(row));
    }
    Tally tally;
    ErrorStatistics statistics;
    judge_row(variant_.claim, terms_, variant_.dtype, variant_.out(), {&truth, row}, prepared, variant_.op,
              got, tally, statistics);
    for (std::size_t i = 0; i < kSearchedChecks.size(); ++i)
      for (const CheckResult& c : tally.results())
        if (name(c.check) == std::string_view(kSearchedChecks[i])) result.share[i] = c.utilisation;
    for (const CheckResult& c : tally.results())
      if (c.failed > 0 && result.violation.empty())
        result.violation = std::string(name(c.check)) + ": " + c.detail;
    return result;
  }

  const Variant& variant_;
  std::int64_t V_;
  Terms terms_;
  bool logs_ = logarithms(variant_.op);
};

struct Start {
  std::string name;
  Row row;
};

/// Rows of every finite family, and two that families do not have: a 0 before logits of half an ulp, which a
/// sum loses one by one, and a single step.
std::vector<Start> starts(const Variant& variant, std::int64_t V, std::uint64_t seed) {
  std::vector<Start> out;
  for (const Family& f : families()) {
    if (f.kind == FamilyKind::special || !applies(f, variant.dtype, V)) continue;
    const Tensor t = make_input(f, variant.dtype, V, 2, seed);
    for (std::int64_t r = 0; r < t.rows; ++r) {
      Row row;
      for (std::int64_t j = 0; j < V; ++j) row.push_back(t.at(r, j));
      out.push_back({f.name, std::move(row)});
    }
  }
  const Terms terms = terms_of(variant.claim, variant.backend, variant.out(), V);
  const double below = -next_up(variant.dtype, round_to(variant.dtype, -std::log(terms.u)));
  Row half(static_cast<std::size_t>(V), below), last = half, step(half.size(), -1.0);
  half.front() = last.back() = step.front() = 0;
  out.push_back({"half an ulp after 0", std::move(half)});
  out.push_back({"half an ulp before 0", std::move(last)});
  out.push_back({"one step", std::move(step)});
  return out;
}

/// The value `steps` steps away from x in the format, kept finite.
double moved(Dtype t, double x, std::int64_t steps) {
  const std::uint64_t bits = encode(t, x), sign = format(t).sign_mask();
  std::int64_t place = static_cast<std::int64_t>(bits & (sign - 1));
  if (bits & sign) place = -place;
  const auto largest = static_cast<std::int64_t>(format(t).infinity_bits()) - 1;
  place = std::clamp(place + steps, -largest, largest);
  return decode(t, place < 0 ? sign | static_cast<std::uint64_t>(-place) : static_cast<std::uint64_t>(place));
}

/// Makes one small change. Rows may hold -inf; finite logits stay finite.
void mutate(Row& x, Dtype dtype, SearchRandom& random) {
  const std::size_t n = x.size(), i = random.below(n), j = random.below(n);
  const double m = *std::max_element(x.begin(), x.end());
  const auto set = [&](std::size_t at, double v) {
    if (std::isfinite(v)) x[at] = round_to(dtype, std::clamp(v, -max_finite(dtype), max_finite(dtype)));
  };
  const auto ulps = [&] {
    const auto size = std::int64_t{1} << random.below(static_cast<std::size_t>(format(dtype).precision));
    return random.next() & 1 ? size : -size;
  };
  switch (random.below(9)) {
    case 0:
    case 1:
      if (std::isfinite(x[i])) x[i] = moved(dtype, x[i], ulps());
      break;
    case 2:
      std::swap(x[i], x[j]);
      break;
    case 3:
      x[i] = x[j];
      break;
    case 4:
      set(i, m - std::exp(6 * random.uniform() - 1.5));
      break;
    case 5: {  // the range of the row
      const double factor = std::exp(random.uniform() - 0.5);
      for (std::size_t at = 0; at < n; ++at) set(at, m + (x[at] - m) * factor);
      break;
    }
    case 6: {  // all logits by the same amount
      const double c = std::ldexp(random.uniform() - 0.5, static_cast<int>(random.below(10)) - 4);
      for (std::size_t at = 0; at < n; ++at) set(at, x[at] + c);
      break;
    }
    case 7: {  // a ramp between two positions
      const double slope = std::exp(-12 * random.uniform());
      for (std::size_t at = std::min(i, j); at < std::max(i, j); ++at)
        set(at, m - slope * static_cast<double>(std::max(i, j) - at));
      break;
    }
    default: {  // one value over a stretch
      const double v = x[random.below(n)];
      for (std::size_t at = std::min(i, j); at <= std::max(i, j); ++at) x[at] = v;
    }
  }
}

/// The value that the climb maximises; rows with subnormal numbers do not count.
double fitness(const RowShares& s, std::size_t check) {
  const bool of_sum = std::string_view(kSearchedChecks[check]) == "normalizer";
  return (of_sum ? s.normal_terms : s.normal_outputs) ? s.share[check] : -1;
}

struct Best {
  double share = -1;
  std::string start;
  Row row;
};

}  // namespace

std::string not_searched(const Variant& variant) {
  if (variant.op == Op::topk) return "op topk has no bound: it is right or wrong";
  const std::string other = not_plain_rows(variant.claim, variant.op);
  return other.empty() ? other : "a search draws rows of logits: " + other;
}

RowShares shares_of_row(const Variant& variant, const std::vector<std::uint64_t>& bits) {
  Row row;
  for (std::uint64_t b : bits) row.push_back(decode(variant.dtype, b));
  return RowEvaluator(variant, static_cast<std::int64_t>(row.size()))(std::span(&row, 1))[0];
}

std::vector<SearchResult> search_utilisation(const Variant& variant, const SearchOptions& options) {
  constexpr std::size_t kChecksSearched = kSearchedChecks.size();
  std::vector<SearchResult> results;
  for (const std::int64_t V : options.sizes) {
    const RowEvaluator evaluate(variant, V);
    const std::vector<Start> from = starts(variant, V, options.seed);
    std::array<Best, kChecksSearched> best;
    std::array<double, kChecksSearched> any = {-1, -1, -1, -1};
    std::string violation;
    const auto take = [&](const RowShares& got, const Row& row, const std::string& start) {
      const bool refuted = !got.violation.empty() && violation.empty();
      for (std::size_t c = 0; c < kChecksSearched; ++c) {
        any[c] = std::max(any[c], got.share[c]);
        if (violation.empty() && (fitness(got, c) > best[c].share || refuted))
          best[c] = {got.share[c], start, row};
      }
      if (!got.violation.empty() && violation.empty()) violation = got.violation;
    };

    std::vector<RowShares> scores;
    for (std::size_t at = 0; at < from.size(); at += kBatch) {
      std::vector<Row> rows;
      for (std::size_t i = at; i < std::min(at + kBatch, from.size()); ++i) rows.push_back(from[i].row);
      for (RowShares& s : evaluate(rows)) {
        take(s, from[scores.size()].row, from[scores.size()].name);
        scores.push_back(std::move(s));
      }
    }
    std::array<double, kChecksSearched> started;
    for (std::size_t c = 0; c < kChecksSearched; ++c) started[c] = best[c].share;

    for (std::size_t c = 0; c < kChecksSearched && violation.empty(); ++c) {
      if (best[c].share < 0) continue;  // judged on no row
      SearchRandom random(
          hash(hash(options.seed ^ 0xcbf29ce484222325 ^ static_cast<std::uint64_t>(V), variant.key()),
               kSearchedChecks[c]));
      std::vector<std::size_t> order(from.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return scores[a].share[c] > scores[b].share[c]; });
      std::size_t next = 0;
      Best climber;
      int stale = kPatience;
      for (int left = options.evaluations; left > 0 && violation.empty();) {
        if (stale >= kPatience) {  // first the best so far, then other starts in turn
          if (next == 0) {
            climber = best[c];
          } else {
            const std::size_t s = order[next % order.size()];
            climber = {fitness(scores[s], c), from[s].name, from[s].row};
          }
          ++next;
          stale = 0;
        }
        std::vector<Row> children;
        while (children.size() < kBatch && static_cast<int>(children.size()) < left) {
          Row child = climber.row;
          for (std::size_t moves = 1 + random.below(3); moves > 0; --moves)
            mutate(child, variant.dtype, random);
          children.push_back(std::move(child));
        }
        left -= static_cast<int>(children.size());
        const std::vector<RowShares> got = evaluate(children);
        ++stale;
        for (std::size_t i = 0; i < got.size(); ++i) {
          take(got[i], children[i], climber.start);
          if (fitness(got[i], c) > climber.share) {
            climber = {fitness(got[i], c), climber.start, children[i]};
            stale = 0;
          }
        }
      }
    }

    for (std::size_t c = 0; c < kChecksSearched; ++c) {
      if (best[c].share < 0 && violation.empty()) continue;
      SearchResult r{kSearchedChecks[c], V, any[c], started[c], best[c].share, best[c].start, {}, violation};
      for (double x : best[c].row) r.bits.push_back(encode(variant.dtype, x));
      results.push_back(std::move(r));
    }
    if (!violation.empty()) break;
  }
  return results;
}

}  // namespace assay
