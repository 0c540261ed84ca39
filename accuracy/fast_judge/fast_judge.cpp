// SPDX-License-Identifier: Apache-2.0
#include "accuracy/fast_judge/fast_judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "accuracy/fast_judge/kernel.hpp"
#include "accuracy/judge/judged_row.hpp"
#include "accuracy/merge_members.hpp"
#include "reference/oracle/fast_row.hpp"
#include "reference/parallel.hpp"

namespace assay {

namespace fast {

namespace {
/// The largest float that is at most v, for v >= 0.
float below(double v) {
  const auto f = static_cast<float>(v);
  return static_cast<double>(f) > v ? std::nextafter(f, 0.0f) : f;
}

const JudgeKernel& judge_kernel() {
  static const JudgeKernel& best = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
                                       ? avx2::judge_kernel
                                       : generic::judge_kernel;
  return best;
}

/// The values of a format of up to 16 bits, by their bits.
const std::vector<float>& values_of(Dtype t) {
  static const auto all = [] {
    std::array<std::vector<float>, std::size(kDtypes)> tables;
    for (const Dtype narrow : kDtypes) {
      if (format(narrow).bits > 16) continue;
      std::vector<float>& v = tables[static_cast<std::size_t>(narrow)];
      v.resize(std::size_t{1} << format(narrow).bits);
      for (std::size_t b = 0; b < v.size(); ++b) v[b] = static_cast<float>(decode(narrow, b));
    }
    return tables;
  }();
  return all[static_cast<std::size_t>(t)];
}

void decode_row(Dtype t, const void* from, std::int64_t n, float* to) {
  if (t == Dtype::f32) {
    std::copy_n(static_cast<const float*>(from), n, to);
    return;
  }
  if (t == Dtype::bf16) {
    const auto* bits = static_cast<const std::uint16_t*>(from);
    for (std::int64_t i = 0; i < n; ++i) to[i] = std::bit_cast<float>(std::uint32_t{bits[i]} << 16);
    return;
  }
  const float* const table = values_of(t).data();
  with_unsigned(size_of(t), [&](auto zero) {
    const auto* bits = static_cast<const decltype(zero)*>(from);
    for (std::int64_t i = 0; i < n; ++i) to[i] = table[bits[i]];
  });
}

const std::byte* row_of(const void* base, Dtype t, std::int64_t row, std::int64_t pitch) {
  return static_cast<const std::byte*>(base) + static_cast<std::size_t>(row * pitch) * size_of(t);
}

}  // namespace

ClaimConstants claim_constants(const Terms& t) {
  ClaimConstants c;
  c.eps_0 = below(t.exp_constant);
  c.slope = below(t.exp_slope);
  c.lam_u = lam(t.u) * (1 - 0x1p-50);
  c.additions = std::min(t.h, kShortSum);
  c.divided = (lam(t.D) + lam(t.u_out)) * (1 - 0x1p-50);
  c.output = t.narrows ? lam(t.D) * (1 - 0x1p-50) : c.divided;
  c.half_ulp = t.narrows ? 0.5 : 0;
  c.eta = t.eta;
  c.w_out = t.narrows ? t.w_quotient : t.w_out;
  c.top = t.D_own > t.u ? below(1 + t.D) : 1;
  return c;
}

}  // namespace fast

void FastJudgement::add(const FastJudgement& o) {
  using J = FastJudgement;
  add_members(*this, o, &J::elements, &J::failed, &J::open, &J::rows_open, &J::by_mpfr, &J::unjudged);
  statistics.max_ulp = std::max(statistics.max_ulp, o.statistics.max_ulp);
  statistics.sum_ulp += o.statistics.sum_ulp;
  statistics.correctly_rounded += o.statistics.correctly_rounded;
  statistics.rounding_undecided += o.statistics.rounding_undecided;
  statistics.utilisation = std::max(statistics.utilisation, o.statistics.utilisation);
  if (first_failure.empty()) first_failure = o.first_failure;
}

std::string fast_judge_unsupported(const Claim& claim, Dtype in, Dtype out) {
  if (in == Dtype::f64 || out == Dtype::f64) return "f64 is judged by MPFR";
  if (claim.any_height) return "the height of the sum is not declared, so it must be measured";
  if (claim.internals != Internals::f32) return "16-bit arithmetic rounds the shift differently";
  if (claim.shift != Shift::subtract) return "no maximum is subtracted";
  if (claim.exp == Exp::exp2_fma) return "exp2 of an FMA rounds the shift differently";
  if (claim.epsilon > 0) return "epsilon in the divisor";
  if (claim.numerators != Numerators::arithmetic) return "numerators that are stored in the output's type";
  if (claim.normalise != Normalise::recomputed) return "kept exps";
  if (claim.exp == Exp::half) return "hexp in fp32 arithmetic has no declared error";
  // Up to this threshold no sum of 2^26 terms can overflow, so every row is in the domain.
  if (claim.rescale_threshold > 32) return "rescales put off so far that a sum may overflow";
  return {};
}

FastJudgement judge_fast(const Claim& claim, Backend backend, const Outputs& o, int threads) {
  const Terms terms = terms_of(claim, backend, o.out, o.V);
  fast::ClaimConstants constants = fast::claim_constants(terms);
  constants.emin = format(o.out).emin;
  constants.mantissa_bits = format(o.out).mantissa_bits();
  struct Mine {
    std::vector<float> x, g;
    std::vector<double> e;
    FastJudgement judged;
  };
  const auto rows = static_cast<std::size_t>(o.rows), V = static_cast<std::size_t>(o.V);
  std::vector<Mine> workers(static_cast<std::size_t>(workers_for(rows, threads)));
  parallel_for_workers(rows, threads, [&](std::size_t row, int worker) {
    Mine& mine = workers[static_cast<std::size_t>(worker)];
    mine.x.resize(V), mine.g.resize(V), mine.e.resize(V);  // allocated by the thread that writes them
    const auto r = static_cast<std::int64_t>(row);
    const std::byte* logits = fast::row_of(o.logits, o.in, r, o.in_pitch);
    const std::byte* probs = fast::row_of(o.probs, o.out, r, o.out_pitch);
    fast::decode_row(o.in, logits, o.V, mine.x.data());
    fast::decode_row(o.out, probs, o.V, mine.g.data());
    const fast::RowLook look =
        fast::judge_kernel().row(constants, mine.x.data(), mine.g.data(), o.V, mine.e.data());
    FastJudgement one;
    one.statistics = look.statistics;
    one.elements = o.V;
    if (look.open > 0) one = judge_open_row(claim, terms, o, r, logits, probs, look.open);
    mine.judged.add(one);
  });
  FastJudgement all;
  for (const Mine& mine : workers) all.add(mine.judged);
  return all;
}

#if !defined(ASSAY_WITH_CUDA)
namespace {
[[noreturn]] void no_cuda() { throw std::runtime_error("this build has no CUDA side"); }
}  // namespace
FastJudgement judge_fast_on_device(const Claim&, Backend, const Outputs&, double*,
                                   std::vector<fast::RowConstants>*) {
  no_cuda();
}
FastJudgement judge_fast_by_device(const Claim&, Backend, const Outputs&, std::vector<fast::RowConstants>*) {
  no_cuda();
}
std::vector<DeviceRow> look_on_device(const Claim&, Backend, const Outputs&) { no_cuda(); }
FastJudgement judge_row_of_device(const Claim&, Backend, const Outputs&, std::int64_t, std::int64_t) {
  no_cuda();
}
std::vector<double> exps_by_device(const std::vector<double>&, const std::vector<double>&) { no_cuda(); }
#endif

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
