// SPDX-License-Identifier: Apache-2.0
#include "accuracy/functions/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "accuracy/judge/judged_row.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "reference/parallel.hpp"

namespace assay {

using pairs::OpenPair;
using pairs::PairCounts;
using pairs::PairJudged;
using pairs::PairRules;
using pairs::PairStats;
using pairs::PairVerdict;

std::vector<const Variant*> pair_variants(Backend backend) {
  std::vector<const Variant*> out;
  for (const Variant& v : registry())
    if (v.op == Op::softmax && v.claim.causal == Causal::no && v.dtype == Dtype::f16 && v.backend == backend)
      out.push_back(&v);
  return out;
}

PairRules pair_rules(const Variant& v) {
  const Terms t = terms_of(v.claim, v.backend, Dtype::f16, 2);
  PairRules r;
  r.half.bits = 16;
  r.half.mantissa = 10;
  r.half.emin = -14;
  r.half.emax = 15;
  r.sum = lam(t.D) + lam(t.u_out) + std::min(t.h, 1.0) * lam(t.u);
  r.common = r.sum - (t.narrows ? lam(t.u_out) : 0);
  r.half_ulp = t.narrows ? 0.5 : 0;
  r.w = t.narrows ? t.w_quotient : t.w_out;
  r.apart = 2 * (lam(std::min(t.D, t.D_own)) + lam(t.u_out));
  r.eps_0 = t.exp_constant;
  r.slope = t.exp_slope;
  r.w_out = t.w_out;
  r.naive = v.claim.algorithm == Algorithm::naive;
  // The limits of outside_domain (domain.cpp). Each is moved to the side on which this judge may decide
  // alone: lse <= m + ln 2, and b is below 0.01 for two elements.
  r.domain_lo = std::log(min_normal(Dtype::f32)) + 1;
  r.domain_hi = (v.claim.division == Division::ieee ? std::log(max_finite(Dtype::f32)) : 87.33) - 0.71;
  r.domain_out = std::log(max_finite(Dtype::f32));
  r.zero_rows = v.claim.policy.all_neg_inf == NegInfRows::zero;
  r.inf_only = v.claim.policy.pos_inf == PosInfRows::inf_only;
  return r;
}

namespace {

std::string describe(std::uint32_t logits, std::uint32_t probs) {
  const auto at = [](std::uint32_t word, int i) { return decode(Dtype::f16, word >> (16 * i) & 0xffff); };
  return fmt::format("({:a}, {:a}) gives ({:a}, {:a})", at(logits, 0), at(logits, 1), at(probs, 0),
                     at(probs, 1));
}

/// The result of the full check on one row.
struct FullVerdict {
  bool outside = false, by_mpfr = false, failed = false, undecided = false, special = false;
  std::int64_t elements = 0, correct = 0;
  double ulp = -1;
  std::string detail;
};

FullVerdict judge_fully(const Variant& v, const Terms& terms, OpenPair pair, Tier tier) {
  const std::uint16_t x[2] = {static_cast<std::uint16_t>(pair.logits),
                              static_cast<std::uint16_t>(pair.logits >> 16)};
  const std::array<std::uint64_t, 2> bits = {pair.probs & 0xffff, pair.probs >> 16};
  const std::array<double, 2> values = {decode(Dtype::f16, bits[0]), decode(Dtype::f16, bits[1])};
  OracleOptions options;
  options.tier = tier;
  const RowTruth t = row_truth(Dtype::f16, x, 2, Dtype::f16, options);
  const PreparedRow prepared = prepare_row(v.claim, terms, t, Op::softmax, 0);
  FullVerdict out;
  if (!prepared.outside.empty()) {
    out.outside = true;
    return out;
  }
  Tally tally;
  ErrorStatistics s;
  RowOutput got;
  got.values = values;
  got.bits = bits;
  judge_row(v.claim, terms, Dtype::f16, Dtype::f16, {&t, 0}, prepared, Op::softmax, got, tally, s);
  if (tier == Tier::fast && tally.undecided() > 0) {
    out = judge_fully(v, terms, pair, Tier::mpfr);
    out.by_mpfr = true;
    return out;
  }
  out.special = !prepared.bounds;
  out.failed = tally.failed() > 0;
  out.undecided = tally.undecided() > 0 || t.undecided > 0;
  out.elements = static_cast<std::int64_t>(s.ulp.size());
  out.correct = s.correctly_rounded;
  for (float e : s.ulp) out.ulp = std::max(out.ulp, static_cast<double>(e));
  if (out.failed) out.detail = tally.failed_names() + ": " + describe(pair.logits, pair.probs);
  return out;
}

/// Gathers the full check's verdicts; rows are shared among threads, and merged in order.
class FullCheck {
 public:
  FullCheck(const Variant& v, int threads)
      : variant_(v), terms_(terms_of(v.claim, v.backend, Dtype::f16, 2)), threads_(threads) {}

  /// False once so much has failed that more rows would show nothing new.
  bool judge(std::span<const OpenPair> rows, PairResult& r, PairStats& stats) {
    std::vector<FullVerdict> verdicts(rows.size());
    // Starting a thread costs as much as some tens of rows.
    parallel_for(rows.size(), rows.size() > 64 ? threads_ : 1,
                 [&](std::size_t i) { verdicts[i] = judge_fully(variant_, terms_, rows[i], Tier::fast); });
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const FullVerdict& f = verdicts[i];
      ++r.full_check;
      r.by_mpfr += f.by_mpfr;
      r.failed += f.failed;
      r.undecided += f.undecided;
      stats.outside += f.outside;
      stats.special += f.special;
      stats.elements += f.elements;
      stats.correct += f.correct;
      if (f.ulp > stats.ulp) {
        stats.ulp = f.ulp;
        stats.worst = rows[i].logits;
        stats.worst_probs = rows[i].probs;
      }
      if (f.failed && r.reason.empty()) r.reason = f.detail;
    }
    return r.failed < 1000 && r.full_check < 100'000'000;
  }

 private:
  const Variant& variant_;
  const Terms terms_;
  const int threads_;
};

PairStats sweep_pairs_on_host(const Variant& v, const PairRules& rules, std::int64_t stride,
                              const std::function<bool(std::span<const OpenPair>)>& full_check) {
  constexpr std::int64_t kRows = 4096;
  const std::int64_t all = ((std::int64_t{1} << 32) + stride - 1) / stride;
  PairStats stats;
  for (std::int64_t from = 0; from < all; from += kRows) {
    const std::int64_t rows = std::min(kRows, all - from);
    Problem p;
    p.in = p.out = Dtype::f16;
    p.rows = rows;
    p.V = p.in_pitch = p.out_pitch = 2;
    Images images;
    const auto bytes = static_cast<std::size_t>(rows) * 4;
    images.logits = Image(bytes, 0, 256);
    images.probs = Image(bytes, 0, 256);
    std::vector<std::uint32_t> words(static_cast<std::size_t>(rows)), probs(words.size(), 0xffffffffu);
    for (std::int64_t i = 0; i < rows; ++i)
      words[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>((from + i) * stride);
    std::memcpy(images.logits.payload(), words.data(), bytes);
    std::memcpy(images.probs.payload(), probs.data(), bytes);
    if (v.workspace_bytes) images.workspace = Image(v.workspace_bytes(p), 0, 256);
    if (const LaunchOutcome o = launch(v, p, images, {}); !o.ok()) throw std::runtime_error(o.fault);
    std::memcpy(probs.data(), images.probs.payload(), bytes);
    std::vector<OpenPair> open;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const PairJudged j = judge_pair(rules, words[i], probs[i]);
      stats.take(j, words[i], probs[i]);
      if (j.verdict == PairVerdict::open) open.push_back({words[i], probs[i]});
    }
    if (!full_check(open)) break;
  }
  return stats;
}

}  // namespace

PairVerdict judge_pair_fully(const Variant& variant, OpenPair row) {
  const FullVerdict v =
      judge_fully(variant, terms_of(variant.claim, variant.backend, Dtype::f16, 2), row, Tier::fast);
  if (v.outside) return PairVerdict::outside;
  return v.failed || v.undecided ? PairVerdict::open : PairVerdict::pass;
}

#if !defined(ASSAY_WITH_CUDA)
PairStats sweep_pairs_on_device(const Variant&, const PairRules&, std::int64_t,
                                const std::function<bool(std::span<const OpenPair>)>&) {
  throw std::logic_error("this build has no CUDA side");
}
#endif

PairResult measure_pairs(const Variant& v, std::int64_t stride, int threads) {
  PairResult r;
  r.key = v.key();
  r.stride = stride;
  r.status = Status::not_run;
  if (r.reason = unavailable_reason(v.backend); !r.reason.empty()) return r;
  const auto start = std::chrono::steady_clock::now();
  FullCheck full(v, threads);
  PairStats by_full;
  const auto check = [&](std::span<const OpenPair> rows) { return full.judge(rows, r, by_full); };
  PairStats s;
  std::string fault;
  try {
    s = on_host(v.backend) ? sweep_pairs_on_host(v, pair_rules(v), stride, check)
                           : sweep_pairs_on_device(v, pair_rules(v), stride, check);
  } catch (const std::runtime_error& e) {
    fault = e.what();
  }
  s.merge(by_full);
  static_cast<PairCounts&>(r) = s;
  r.ulp = s.ulp;
  if (s.ulp >= 0) r.worst = describe(s.worst, s.worst_probs);
  r.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::int64_t planned = ((std::int64_t{1} << 32) + stride - 1) / stride;
  if (!fault.empty())
    r.reason = fault;
  else if (r.failed > 0)
    r.reason = fmt::format("{} rows fail, first {}", r.failed, r.reason);
  else if (r.undecided > 0)
    r.reason = fmt::format("{} rows undecided", r.undecided);
  else if (r.rows != planned)
    r.reason = fmt::format("{} of {} rows were judged", r.rows, planned);
  else if (!(r.elements > 0))
    r.reason = "nothing was judged";
  r.status = r.reason.empty() ? Status::pass : Status::fail;
  return r;
}

QuotientSweep sweep_quotients([[maybe_unused]] std::int64_t stride) {
  QuotientSweep q;
  q.status = Status::not_run;
  q.reason = unavailable_reason(Backend::cuda);
#if defined(ASSAY_WITH_CUDA)
  if (q.reason.empty()) {
    q = sweep_quotients_on_device(stride);
    q.status = q.wrong == 0 && q.divisors > 0 ? Status::pass : Status::fail;
  }
#endif
  return q;
}

}  // namespace assay
