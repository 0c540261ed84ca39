// SPDX-License-Identifier: Apache-2.0
// The frame of the oracle: decodes and sorts a row, determines its kind, and groups equal logits so that the
// costly part runs once per distinct value.
#include "reference/oracle/oracle.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reference/error.hpp"
#include "reference/mpfr_value.hpp"
#include "reference/oracle/fast_row.hpp"
#include "reference/oracle/oracle_exp.hpp"

namespace assay {
namespace {

// The oracle on one sorted row with a finite maximum: everything that needs e^(x - m).

/// Equal finite logits, at positions order[begin, begin + count) of the row. They share one probability.
struct Group {
  double x = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// The derivations need at least 24 bits. Above 8192 bits, the terms below kCut would not be negligible
// against 2^-P.
constexpr int kLeastPrecision = 24;

constexpr int kMostPrecision = 8192;

/// All exponentials of a row at one precision P, and their sum.
class Level {
 public:
  Level(std::span<const Group> groups, double m, mpfr_prec_t precision)
      : P(precision), rest_lo(P + 64), rest_hi(P + 64), inverse(P) {
    while (near_ < groups.size() && groups[near_].x - m >= kCut) ++near_;
    const std::size_t limbs = mpfr_custom_get_size(P) / sizeof(mp_limb_t);
    limbs_.resize(near_ * limbs);
    terms_.resize(near_);
    MpfrValue rest(P + 64), many(P + 64);
    mpfr_set_ui(rest, static_cast<unsigned long>(groups[0].count - 1), MPFR_RNDN);
    for (std::size_t g = 0; g < near_; ++g) {
      mpfr_custom_init_set(&terms_[g], MPFR_ZERO_KIND, 0, P, &limbs_[g * limbs]);
      if (g == 0) {
        mpfr_set_ui(&terms_[g], 1, MPFR_RNDN);
        continue;
      }
      exp_difference(&terms_[g], groups[g].x, m);
      if (groups[g].count == 1) {
        mpfr_add(rest, rest, &terms_[g], MPFR_RNDN);
      } else {
        mpfr_mul_ui(many, &terms_[g], static_cast<unsigned long>(groups[g].count), MPFR_RNDN);
        mpfr_add(rest, rest, many, MPFR_RNDN);
      }
    }
    // rest = s - 1 is kept apart because ln s = log1p(rest) must not lose a small rest. Relative errors: each
    // term 2^(15 - P), its multiple 2^-(P + 64), at most 2^31 additions 2^(31 - P - 64). Together below 2^(16
    // - P).
    bounds(rest, 16, rest_lo, rest_hi);
    std::int64_t cut = 0;
    for (std::size_t g = near_; g < groups.size(); ++g) cut += groups[g].count;
    mpfr_set_ui_2exp(many, static_cast<unsigned long>(cut), kCutLog2, MPFR_RNDU);
    mpfr_add(rest_hi, rest_hi, many, MPFR_RNDU);
    mpfr_add_ui(rest, rest, 1, MPFR_RNDN);
    mpfr_ui_div(inverse, 1, rest, MPFR_RNDN);
  }

  std::size_t near() const { return near_; }
  mpfr_srcptr term(std::size_t g) const { return &terms_[g]; }

  /// Bounds, rounded outward, of a positive quantity with a relative error below 2^(k - P).
  void bounds(mpfr_srcptr v, long k, mpfr_ptr lo, mpfr_ptr hi) const {
    MpfrValue radius(mpfr_get_prec(v));
    mpfr_mul_2si(radius, v, k - static_cast<long>(P), MPFR_RNDN);
    mpfr_sub(lo, v, radius, MPFR_RNDD);
    mpfr_add(hi, v, radius, MPFR_RNDU);
  }

  const mpfr_prec_t P;
  MpfrValue rest_lo, rest_hi;  // enclose s - 1
  MpfrValue inverse;           // 1 / s

 private:
  std::size_t near_ = 0;  // number of groups at kCut or above; the others are in [0, 2^kCutLog2]
  std::vector<mp_limb_t> limbs_;
  std::vector<__mpfr_struct> terms_;  // significands are in limbs_, so there is no allocation per element
};

struct Judged {
  Enclosure p;
  std::uint64_t bits = 0;
  bool decided = false;
};

/// Computes p_g by integer arithmetic on the top limb of q. decided = false if the limb does not determine
/// both the neighbouring doubles and the rounding. q has a relative error below 2^(17 - P), and P >= 81. So
/// with top limb T and exponent E, the value is in (T - 1, T + 2) 2^(E - 64).
Judged judge_top_limb(mpfr_srcptr q, Dtype out) {
  const mpfr_exp_t E = mpfr_get_exp(q);
  if (E < -1075) return {{0, 0x1p-1074}, 0, true};  // below half of the smallest double: rounds to 0
  const mpfr_prec_t limbs = (mpfr_get_prec(q) + mp_bits_per_limb - 1) / mp_bits_per_limb;
  const std::uint64_t T = static_cast<const mp_limb_t*>(mpfr_custom_get_significand(q))[limbs - 1];
  const int dropped = E >= -1021 ? 11 : static_cast<int>(-1010 - E);  // bits below double's unit at this E
  if (dropped > 63) return {};
  const std::uint64_t rest = T & ((std::uint64_t{1} << dropped) - 1);
  if (rest < 1 || rest + 2 > std::uint64_t{1} << dropped) return {};  // may lie on either side of a double
  const std::uint64_t biased = E >= -1021 ? static_cast<std::uint64_t>(E + 1021) << 52 : 0;
  const std::uint64_t below = biased + (T >> dropped);  // the hidden bit of T adds one to the exponent
  Judged j{{std::bit_cast<double>(below), std::bit_cast<double>(below + 1)}, 0, true};
  if (out == Dtype::f64) {
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    j.decided = rest + 2 <= half || rest > half;
    j.bits = rest > half ? below + 1 : below;
  } else {
    j.bits = encode(out, j.p.lo);
    j.decided = j.bits == encode(out, j.p.hi);
  }
  return j;
}

/// p_g at a level: q = e_g (1 / s). Relative errors: 2^(15 - P) from e_g and the same from s; the roundings
/// of s, 1 / s and the product; n 2^-23000 from the terms below kCut. Together below 2^(17 - P).
Judged judge(const Level& level, std::size_t g, Dtype out, mpfr_ptr q) {
  if (g >= level.near()) return {{0, 0x1p-1074}, 0, true};
  mpfr_mul(q, level.term(g), level.inverse, MPFR_RNDN);
  if (level.P >= 81) {
    const Judged j = judge_top_limb(q, out);
    if (j.decided) return j;
  }
  MpfrValue lo(level.P), hi(level.P);
  level.bounds(q, 17, lo, hi);
  if (mpfr_cmp_ui(hi, 1) > 0) mpfr_set_ui(hi, 1, MPFR_RNDN);
  Judged j{{down(lo), up(hi)}, round_bits(out, lo), true};
  j.decided = j.bits == round_bits(out, hi);
  return j;
}

/// lse = m + ln s from bounds of ln s, stored in the row.
struct LseState {
  bool decided = false;  // the rounding is decided
  bool tight = false;    // the enclosure is as narrow as doubles allow
};

LseState judge_lse(RowTruth& row, mpfr_srcptr ln_lo, mpfr_srcptr ln_hi, Dtype out) {
  const mpfr_prec_t precision = mpfr_get_prec(ln_lo);
  MpfrValue lo(precision), hi(precision), width(precision);
  mpfr_add_d(lo, ln_lo, row.m, MPFR_RNDD);
  mpfr_add_d(hi, ln_hi, row.m, MPFR_RNDU);
  row.lse = {down(lo), up(hi)};
  mpfr_sub(width, hi, lo, MPFR_RNDU);
  const bool negligible = mpfr_zero_p(width) || mpfr_get_exp(width) < -1100;
  const bool narrow = !mpfr_zero_p(lo) && !mpfr_zero_p(hi) && mpfr_signbit(lo) == mpfr_signbit(hi) &&
                      mpfr_get_exp(width) < std::min(mpfr_get_exp(lo), mpfr_get_exp(hi)) - 60;
  // ln s > 0 strictly. So even if m absorbs ln s, the value lies above m. If m is a tie (when `out` is
  // narrower than the logits), this decides what no precision could. m has 53 bits, lo at least 88.
  if (mpfr_cmp_d(lo, row.m) == 0) mpfr_nextabove(lo);
  row.lse_rounded = round_bits(out, lo);
  return {row.lse_rounded == round_bits(out, hi), negligible || narrow};
}

void store(RowTruth& row, const Group& group, const Judged& j) {
  for (std::int64_t i = 0; i < group.count; ++i) {
    const auto position = static_cast<std::size_t>(row.order[static_cast<std::size_t>(group.begin + i)]);
    row.lo[position] = j.p.lo;
    row.hi[position] = j.p.hi;
    row.rounded[position] = j.bits;
  }
}

/// If all finite logits are equal, p = 1 / n is rational. No other case is.
void solve_equal(RowTruth& row, const Group& group, Dtype out, int first, int last) {
  const auto n = static_cast<unsigned long>(group.count);
  // 256 bits decide: if n is no power of two, 1 / n is at least 2^-(31 + 54) (relative) from any midpoint.
  MpfrValue lo(256), hi(256);
  mpfr_set_ui(lo, 1, MPFR_RNDN);
  mpfr_div_ui(hi, lo, n, MPFR_RNDU);
  mpfr_div_ui(lo, lo, n, MPFR_RNDD);
  store(row, group, {{down(lo), up(hi)}, round_bits(out, lo), true});
  row.s = {static_cast<double>(n), static_cast<double>(n)};
  if (n == 1) {
    row.lse = {row.m, row.m};
    row.lse_rounded = encode(out, row.m + 0.0);  // + 0.0 turns -0 into +0, because lse is m + ln 1
    return;
  }
  for (int P = first;; P = std::min(2 * P, last)) {
    MpfrValue ln_lo(P + 64), ln_hi(P + 64);
    mpfr_log_ui(ln_lo, n, MPFR_RNDD);
    mpfr_log_ui(ln_hi, n, MPFR_RNDU);
    row.bits = P;
    const LseState lse = judge_lse(row, ln_lo, ln_hi, out);
    if ((lse.decided && lse.tight) || P >= last) {
      row.undecided = lse.decided ? 0 : 1;
      return;
    }
  }
}

/// Fills s, lse, lse_rounded, weighted_distance, undecided and bits; and lo, hi and rounded at the positions
/// of the groups. Needs order, m and d, and vectors of the right size. Groups are in descending order of x.
void solve_row(RowTruth& row, std::span<const Group> groups, Dtype out, const OracleOptions& options) {
  free_mpfr_cache_at_thread_exit();
  const int first = std::clamp(options.first_precision, kLeastPrecision, kMostPrecision);
  const int last = std::clamp(options.last_precision, first, kMostPrecision);
  if (groups.size() == 1) {
    solve_equal(row, groups[0], out, first, last);
    return;
  }
  std::vector<std::size_t> open(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) open[g] = g;
  double distance = 0, lost = 0;  // a compensated sum of V terms of one sign
  LseState lse;
  for (int P = first;; P = std::min(2 * P, last)) {
    const Level level(groups, row.m, P);
    row.bits = P;
    MpfrValue q(P), lo(P + 64), hi(P + 64);
    mpfr_add_ui(lo, level.rest_lo, 1, MPFR_RNDD);
    mpfr_add_ui(hi, level.rest_hi, 1, MPFR_RNDU);
    row.s = {down(lo), up(hi)};

    std::vector<std::size_t> still_open;
    for (std::size_t g : open) {
      const Judged j = judge(level, g, out, q);
      store(row, groups[g], j);
      if (!j.decided) still_open.push_back(g);
    }
    open = std::move(still_open);

    if (!lse.decided || !lse.tight) {
      mpfr_log1p(lo, level.rest_lo, MPFR_RNDD);
      mpfr_log1p(hi, level.rest_hi, MPFR_RNDU);
      lse = judge_lse(row, lo, hi, out);
    }
    if ((open.empty() && lse.decided && lse.tight) || P >= last) break;
  }
  for (std::size_t g : open) row.undecided += groups[g].count;
  row.undecided += lse.decided ? 0 : 1;

  for (const Group& group : groups) {
    const auto position = static_cast<std::size_t>(row.order[static_cast<std::size_t>(group.begin)]);
    const double p = 0.5 * row.lo[position] + 0.5 * row.hi[position];
    if (p == 0) continue;  // d may be -1.8e308 here
    const double term = static_cast<double>(group.count) * p * -row.d[position];
    const double sum = distance + term;
    lost += std::abs(distance) >= std::abs(term) ? (distance - sum) + term : (term - sum) + distance;
    distance = sum;
  }
  row.weighted_distance = distance + lost;
}

/// Maps a logit's bits to an unsigned number that grows as the logit falls. Equal keys mean equal logits: -0
/// and +0 share one key, and all NaN share the last one.
std::uint64_t descending_key(Dtype t, std::uint64_t b) {
  const Format f = format(t);
  const std::uint64_t all = f.sign_mask() | (f.sign_mask() - 1);
  if (is_nan_bits(t, b)) return all;
  if (b == f.sign_mask()) b = 0;
  return b & f.sign_mask() ? b : ~b & (f.sign_mask() - 1);
}

struct Keyed {
  std::uint64_t key;
  std::int32_t position;
};

/// Stable radix sort by byte: ties keep the order of their positions. A byte that is equal in all keys costs
/// only one counting pass.
void sort_by_key(std::vector<Keyed>& items, std::size_t key_bytes) {
  std::vector<Keyed> other(items.size());
  for (std::size_t byte = 0; byte < key_bytes; ++byte) {
    const auto digit = [byte](const Keyed& k) { return static_cast<std::size_t>(k.key >> (8 * byte) & 255); };
    std::array<std::size_t, 256> start{};
    for (const Keyed& k : items) ++start[digit(k)];
    if (start[digit(items.front())] == items.size()) continue;
    std::size_t sum = 0;
    for (std::size_t& s : start) sum += std::exchange(s, sum);
    for (const Keyed& k : items) other[start[digit(k)]++] = k;
    items.swap(other);
  }
}

RowKind classify(const std::vector<double>& x, std::int64_t& finite) {
  bool nan = false, pos_inf = false;
  finite = 0;
  for (double v : x) {
    nan |= std::isnan(v);
    pos_inf |= v == std::numeric_limits<double>::infinity();
    finite += std::isfinite(v);
  }
  if (x.empty()) return RowKind::empty;
  if (nan) return RowKind::nan;
  if (pos_inf) return RowKind::pos_inf;
  if (finite == 0) return RowKind::all_neg_inf;
  return finite == static_cast<std::int64_t>(x.size()) ? RowKind::finite : RowKind::masked;
}

double row_maximum(const RowTruth& t) {
  if (t.kind == RowKind::nan) return std::numeric_limits<double>::quiet_NaN();
  if (t.kind == RowKind::empty) return -std::numeric_limits<double>::infinity();
  return t.x[static_cast<std::size_t>(t.order.front())];
}

}  // namespace

RowTruth row_truth(Dtype in, const void* logits, std::int64_t V, Dtype out, const OracleOptions& options) {
  if (V < 0 || V > std::numeric_limits<std::int32_t>::max())
    throw InputError("oracle: V must be between 0 and 2^31 - 1, got " + std::to_string(V));
  const auto size = static_cast<std::size_t>(V);
  RowTruth t;
  t.x.resize(size);
  t.order.resize(size);
  std::vector<Keyed> items(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t b = load_bits(in, logits, static_cast<std::int64_t>(i));
    t.x[i] = decode(in, b);
    items[i] = {descending_key(in, b), static_cast<std::int32_t>(i)};
  }
  if (size > 0) sort_by_key(items, size_of(in));
  for (std::size_t i = 0; i < size; ++i) t.order[i] = items[i].position;

  t.kind = classify(t.x, t.finite);
  t.m = row_maximum(t);
  if (t.kind != RowKind::finite && t.kind != RowKind::masked) return t;
  t.argmax = t.order.front();
  if (options.selection_only) return t;

  std::vector<Group> groups;
  for (std::int64_t i = 0; i < t.finite; ++i) {
    const Keyed& k = items[static_cast<std::size_t>(i)];
    if (i == 0 || k.key != items[static_cast<std::size_t>(i - 1)].key)
      groups.push_back({t.x[static_cast<std::size_t>(k.position)], i, 0});
    ++groups.back().count;
  }
  t.larger.assign(size, static_cast<std::int32_t>(groups.size()));
  t.d.assign(size, -std::numeric_limits<double>::infinity());
  t.lo.assign(size, 0);
  t.hi.assign(size, 0);
  t.rounded.assign(size, 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // A finite logit gets a finite distance even if x - m overflows in f64: -inf in d means a masked
    // position.
    const double d = std::max(groups[g].x - t.m, -std::numeric_limits<double>::max());
    for (std::int64_t i = 0; i < groups[g].count; ++i) {
      const auto position = static_cast<std::size_t>(t.order[static_cast<std::size_t>(groups[g].begin + i)]);
      t.larger[position] = static_cast<std::int32_t>(g);
      t.d[position] = d;
    }
  }
  if (options.tier == Tier::fast && groups.size() > 1 && in != Dtype::f64 && out != Dtype::f64 &&
      V <= fast::kMostTerms && solve_row_fast(t, out)) {
    t.bits = 53;
    return t;
  }
  solve_row(t, groups, out, options);
  return t;
}

std::vector<RowTruth> truth(const Tensor& logits, const OracleOptions& options) {
  std::vector<RowTruth> rows;
  rows.reserve(static_cast<std::size_t>(logits.rows));
  for (std::int64_t r = 0; r < logits.rows; ++r)
    rows.push_back(row_truth(logits.dtype, logits.row(r), logits.V, logits.dtype, options));
  return rows;
}

}  // namespace assay
