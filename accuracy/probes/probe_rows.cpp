// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/probes/probes.hpp"
#include "reference/hash/draws.hpp"
#include "reference/oracle/fast_exp.hpp"

namespace assay::probe {
namespace {

constexpr float kLog2E = 0x1.715476p+0f;
constexpr double kLn2 = 0x1.62e42fefa39efp-1;

/// The i-th of `count` candidates in (lo, hi): evenly spread, jittered, rounded to the dtype.
double candidate(Dtype dtype, double lo, double hi, std::uint64_t i, std::uint64_t count) {
  const double jitter = static_cast<double>(mixed(i + turned_by_seed()) >> 11) * 0x1p-53;
  return round_to(dtype, lo + (hi - lo) * (static_cast<double>(i) + jitter) / static_cast<double>(count));
}

}  // namespace

Tensor sparse_rows(Dtype dtype, std::int64_t V, const std::vector<Sparse>& rows) {
  Tensor t(dtype, static_cast<std::int64_t>(rows.size()), V);
  for (std::int64_t r = 0; r < t.rows; ++r) {
    for (std::int64_t j = 0; j < V; ++j) t.set(r, j, -kInf);
    for (const auto& [column, x] : rows[static_cast<std::size_t>(r)]) t.set(r, column, x);
  }
  return t;
}

/// Repeats the rows until there are `rows` of them.
static Tensor repeated(const Tensor& t, std::int64_t rows) {
  Tensor all(t.dtype, rows, t.V);
  const std::size_t bytes = static_cast<std::size_t>(t.V) * size_of(t.dtype);
  for (std::int64_t r = 0; r < rows; ++r)
    std::memcpy(all.bytes.data() + static_cast<std::size_t>(r) * bytes, t.row(r % t.rows), bytes);
  return all;
}

Output launch_on(const Variant& variant, const Tensor& logits, int k, const LaunchOptions& options,
                 std::int64_t at_least) {
  // A larger launch would take longer than its result is worth.
  constexpr std::int64_t kMostElements = std::int64_t{1} << 25;
  const std::int64_t needed = allowed_rows(variant.limits, std::max(at_least, logits.rows));
  if (logits.rows > 0 && needed > logits.rows &&
      needed * std::max<std::int64_t>(1, logits.V) <= kMostElements)
    return launch_on(variant, repeated(logits, needed), k, options);
  Output o;
  o.rows = logits.rows, o.V = logits.V;
  if (selects(variant.op)) o.k = std::min(k, variant.max_k);
  const Problem problem = problem_of(variant, variant.op, logits.rows, logits.V, o.k, logits.V);
  Layout layout = fitted(plain_layout(), variant, problem);
  layout.launch = options;
  GuardedLaunch run(variant, problem, logits, layout);
  o.skipped = beyond_limits(variant, run.problem());
  std::vector<double> x(static_cast<std::size_t>(logits.V));
  const auto decode_logits = [&](std::int64_t r) {
    with_unsigned(size_of(logits.dtype), [&](auto zero) {
      const auto* const bits = reinterpret_cast<const decltype(zero)*>(logits.row(r));
      for (std::size_t j = 0; j < x.size(); ++j) x[j] = decode(logits.dtype, bits[j]);
    });
  };
  for (std::int64_t r = 0; r < logits.rows && o.skipped.empty(); ++r) {
    decode_logits(r);
    o.skipped = outside_values(variant, x);
  }
  if (!o.skipped.empty()) return o;
  if (const LaunchOutcome outcome = run.run(); !outcome.ok()) {
    o.fault = outcome.fault;
    o.ended = outcome.ended;
    o.fault_kind = outcome.kind;
    return o;
  }
  const auto rows = static_cast<std::size_t>(logits.rows);
  o.value.assign(rows * static_cast<std::size_t>(logits.V), std::numeric_limits<double>::quiet_NaN());
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    double* value = o.value.data() + r * logits.V;
    if (run.has_indices())
      for (int j = 0; j < o.k; ++j) {
        const std::int64_t i = run.index(r, j);
        o.indices.push_back(i);
        if (i >= 0 && i < logits.V) value[i] = decode(variant.out(), run.value_bits(r, j));
      }
    else if (run.has_values())
      for (std::int64_t j = 0; j < run.problem().out_columns(); ++j)
        value[j] = decode(variant.out(), run.value_bits(r, j));
    if (run.has_normalizer()) {
      o.m.push_back(static_cast<double>(run.m(r)));
      o.d.push_back(static_cast<double>(run.d(r)));
    } else if (variant.op == Op::softmax || variant.op == Op::softmax_topk) {
      // If several logits are the largest, top-k may return any of them: takes the first one that it
      // returned.
      decode_logits(r);
      std::size_t top = 0;
      for (std::size_t j = 1; j < x.size(); ++j)
        if (x[j] > x[top] || (x[j] == x[top] && std::isnan(value[top]) && !std::isnan(value[j]))) top = j;
      o.m.push_back(logits.V > 0 ? x[top] : -kInf);
      o.d.push_back(logits.V > 0 ? 1 / value[top] : 0);
    }
  }
  const Terms t = terms_of(variant.claim, variant.backend, variant.out(), logits.V);
  if (!run.has_normalizer()) {
    o.slack = t.unit_maximum() ? lam(t.D) + lam(t.u_out) : kInf;
    // The division shows d + epsilon, with its own rounding.
    if (t.epsilon > 0) {
      for (double& d : o.d) d -= t.epsilon;
      o.slack = (o.slack + lam(t.u)) * (1 + 2 * t.epsilon);
    }
  } else if (t.epsilon > 0) {
    o.slack = t.shifted ? std::log1p(2 * t.epsilon) + lam(t.u) : kInf;  // with epsilon or without
  }
  return o;
}

bool landed(Observation& o, const Output& got) {
  o.fault = got.fault;
  o.ended = got.ended;
  o.fault_kind = got.fault_kind;
  if (!got.skipped.empty()) o.skipped = "outside the declared limits: " + got.skipped;
  return got.fault.empty() && got.skipped.empty();
}

Enclosure exp_of(double t) {
  const double e = fast::exp(t);
  constexpr double kWide = fast::kExpError + 0x1p-52;  // and the product's own rounding
  return {e * (1 - kWide), e * (1 + kWide)};
}

double fast_exp_ideal(double t) { return std::exp2(static_cast<double>(static_cast<float>(t) * kLog2E)); }

std::vector<double> slope_arguments(Dtype dtype, double lo, double hi, int count) {
  constexpr int kTries = 32;
  std::vector<double> out;
  for (int i = 0; i < count; ++i) {
    double best = 0, best_error = -1;
    for (int k = 0; k < kTries; ++k) {
      const auto at = static_cast<std::uint64_t>(i * kTries + k);
      const double t = candidate(dtype, lo, hi, at, static_cast<std::uint64_t>(count * kTries));
      const double product = static_cast<double>(static_cast<float>(t) * kLog2E);
      const double error = std::fabs(product * kLn2 - t);
      if (error > best_error) best = t, best_error = error;
    }
    out.push_back(best);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

double exp_error_below_zero(const Terms& terms, double x) {
  return terms.eps(x) + (terms.exp2 ? 1.2242 * terms.u * std::fabs(x) : 0);
}

namespace {

/// 1 + E before it is rounded.
Enclosure exact_one_plus_exp(const Terms& terms, double t) {
  const Enclosure e = exp_of(t);
  const double eps = exp_error_below_zero(terms, t);
  // The rounding of 1 + e in double, 2^-53, is covered by 2^-51 on either side, before the single rounding of
  // the arithmetic.
  return {1 + (e.lo * std::exp(-eps) - terms.eta) - 0x1p-51,
          1 + (e.hi * std::exp(eps) + terms.eta) + 0x1p-51};
}

/// 1 / d in f32 for d in double. The quotient and the product with 1 + step round in double, by 2^-53 each; a
/// step of 2^-51 on either side covers both.
double one_over(double d, double step) { return static_cast<double>(static_cast<float>(1 / d * (1 + step))); }

}  // namespace

Enclosure one_over_one_plus_exp(const Terms& terms, double t) {
  const Enclosure d = exact_one_plus_exp(terms, t);
  const double low = std::min(d.lo, round_to(terms.arithmetic, d.lo));
  const double high = std::max(d.hi, round_to(terms.arithmetic, d.hi));
  return {one_over(high, -0x1p-51), one_over(low, 0x1p-51)};
}

Enclosure one_plus_exp(const Terms& terms, double t) {
  const auto [lo, hi] = exact_one_plus_exp(terms, t);
  const Enclosure rounded{round_to(terms.arithmetic, lo), round_to(terms.arithmetic, hi)};
  // A sum kept in f32 by a kernel with 16-bit arithmetic need not be a 16-bit number.
  return terms.narrow ? Enclosure{std::min(lo, rounded.lo), std::max(hi, rounded.hi)} : rounded;
}

namespace {

std::vector<Pair> search_pairs(Dtype dtype, const Terms& sharp, bool any_high, Shows shows) {
  // If an exp may be off by 5 u, a proof is possible only where the product t log2e differs most from e^t:
  // for |t| just above 8 ln 2, and only for some t.
  const bool wide = sharp.exp_constant > 2 * sharp.u;
  const std::uint64_t candidates = wide ? 1 << 21 : 1 << 15;
  constexpr float kPast8 = -5.5452f;
  const double lo = wide ? -7.5 : -9, hi = wide ? static_cast<double>(kPast8) : -0.5;
  std::vector<std::pair<double, Pair>> found;  // margin relative to e^t, negated
  for (std::uint64_t i = 0; i < candidates; ++i) {
    Pair p{0, candidate(dtype, lo, hi, i, candidates)};
    // 16-bit logits alone have few differences; adding a small high logit gives many more.
    if (dtype != Dtype::f32 && any_high) {
      const std::uint64_t bits = mixed(~(i + turned_by_seed()));
      p.high = round_to(
          dtype, std::ldexp(static_cast<double>(bits >> 11) * 0x1p-52 - 1, -static_cast<int>(bits % 12)));
    }
    const double t = p.t();
    if (!(t < -0.25 && round_to(sharp.arithmetic, t) == t)) continue;
    const double product = static_cast<double>(static_cast<float>(t) * kLog2E);
    if (!(std::fabs(product * kLn2 - t) > sharp.exp_constant)) continue;  // within the allowed error
    const double u = sharp.u, fast = 1 + fast_exp_ideal(t);
    // The midpoints above and below the only possible value. d is in (1, 2); 1/d is in (1/2, 1), where a step
    // is half as wide.
    double margin = 0;
    if (shows == Shows::sum) {
      const Enclosure d = one_plus_exp(sharp, t);
      if (d.lo != d.hi) continue;
      margin = std::max(fast - (d.hi + u), (d.lo - u) - fast);
    } else {
      const Enclosure q = one_over_one_plus_exp(sharp, t);
      if (q.lo != q.hi) continue;
      // The sum may have been rounded before or not: takes the value that is closer to the allowed one.
      const double of_wide = 1 / fast, of_rounded = 1 / round_to(sharp.arithmetic, fast);
      const auto beyond = [&](double x) { return std::max(x - (q.hi + u / 2), (q.lo - u / 2) - x); };
      margin = std::min(beyond(of_wide), beyond(of_rounded));
    }
    if (margin > 0) found.emplace_back(-margin / std::exp(t), p);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Pair> out;
  double last = 0;
  for (const auto& [margin, p] : found) {
    if (p.t() != last) out.push_back(p);
    last = p.t();
  }
  return out;
}

}  // namespace

std::vector<Pair> separating_pairs(Dtype dtype, const Terms& sharp, bool any_high, int count, Shows shows) {
  // They do not depend on the kernel, so one search serves all keys.
  static std::mutex mutex;
  static std::map<std::tuple<Dtype, Dtype, double, bool, Shows, std::uint64_t>, std::vector<Pair>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto [it, fresh] =
      known.try_emplace({dtype, sharp.arithmetic, sharp.exp_constant, any_high, shows, turned_by_seed()});
  if (fresh) it->second = search_pairs(dtype, sharp, any_high, shows);
  std::vector<Pair> out = it->second;
  if (out.size() > static_cast<std::size_t>(count)) out.resize(static_cast<std::size_t>(count));
  return out;
}

RowTruth truth_of(const Tensor& logits, std::int64_t row) {
  OracleOptions options;
  options.tier = Tier::fast;
  return row_truth(logits.dtype, logits.row(row), logits.V, logits.dtype, options);
}

}  // namespace assay::probe
