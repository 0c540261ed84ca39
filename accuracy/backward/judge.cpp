// SPDX-License-Identifier: Apache-2.0
#include "accuracy/backward/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "accuracy/ulp.hpp"
#include "reference/hash/draws.hpp"

namespace assay {
namespace {

/// The sum of twelve uniform numbers is nearly N(6, 1), and the same on every machine.
double normal(Draws& draw) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += draw.uniform();
  return sum;
}

std::uint64_t hash_of(const Tensor& t, std::int64_t row) {
  std::uint64_t h = kHashOfNothing;
  for (std::int64_t j = 0; j < t.V; ++j) {
    h = hash_with(h, load_bits(t.dtype, t.row(row), j));
    h ^= h >> 29;
  }
  return h;
}

enum class Kind { normal, constant, mixed, one_place, one_hot };
Kind kind_of(std::uint64_t bits) {
  constexpr Kind kinds[] = {Kind::normal, Kind::normal,   Kind::normal, Kind::normal,
                            Kind::mixed,  Kind::constant, Kind::mixed,  Kind::one_place};
  // One row of 32 is one-hot.
  return bits % 32 == 31 ? Kind::one_hot : kinds[bits % 8];
}

void fill_y(Tensor& y, const RowTruth& truth, std::int64_t row, bool one_hot) {
  const bool finite = truth.kind == RowKind::finite || truth.kind == RowKind::masked;
  for (std::int64_t j = 0; j < y.V; ++j) {
    if (!finite)
      y.set(row, j, std::numeric_limits<double>::quiet_NaN());
    else if (one_hot)
      y.set(row, j, j == truth.argmax ? 1 : 0);
    else
      store_bits(y.dtype, y.row(row), j, truth.rounded[static_cast<std::size_t>(j)]);
  }
}

void fill_dy(Tensor& dy, std::int64_t row, Kind kind, Draws& draw) {
  // A sum of about 2^18 products of this size stays finite in every format.
  const double huge = dy.dtype == Dtype::f16 ? 0x1p10 : 0x1p20;
  const double one = normal(draw);
  const auto place =
      static_cast<std::int64_t>(draw.next() % static_cast<std::uint64_t>(std::max<std::int64_t>(1, dy.V)));
  for (std::int64_t j = 0; j < dy.V; ++j) {
    double g = normal(draw);
    if (kind == Kind::constant) g = one;
    if (kind == Kind::mixed) g *= draw.next() % 2 == 0 ? huge : 1 / huge;
    if (kind == Kind::one_place && j != place) g = 0;
    dy.set(row, j, g);
  }
}

/// hi + lo is the sum of doubles, with an error of n^2 2^-106 times the sum of their magnitudes (T. Ogita, S.
/// M. Rump, S. Oishi, SIAM J. Sci. Comput. 26(6), 2005, proposition 4.5, without its last addition).
struct Sum {
  double hi = 0, lo = 0;
  void add(double t) {
    const double sum = hi + t, z = sum - hi;
    lo += (hi - (sum - z)) + (t - z);
    hi = sum;
  }
};

}  // namespace

BackwardInputs backward_inputs(const Tensor& logits, const std::vector<RowTruth>& truth) {
  BackwardInputs in{Tensor(logits.dtype, logits.rows, logits.V), Tensor(logits.dtype, logits.rows, logits.V)};
  for (std::int64_t r = 0; r < logits.rows; ++r) {
    Draws draw(hash_of(logits, r));
    const Kind kind = kind_of(draw.next());
    fill_y(in.y, truth[static_cast<std::size_t>(r)], r, kind == Kind::one_hot);
    fill_dy(in.dy, r, kind, draw);
  }
  return in;
}

BackwardRow backward_row(const Tensor& y, const Tensor& dy, std::int64_t row) {
  BackwardRow out;
  const auto n = static_cast<std::size_t>(y.V);
  out.y.resize(n);
  out.dy.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double a = out.y[j] = y.at(row, static_cast<std::int64_t>(j));
    const double b = out.dy[j] = dy.at(row, static_cast<std::int64_t>(j));
    out.nan |= std::isnan(a) || std::isnan(b);
    out.special |= !std::isfinite(a) || !std::isfinite(b);
  }
  if (out.special) return out;
  Sum sum;
  double absolute = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const double t = out.y[j] * out.dy[j];
    sum.add(t);
    absolute += std::fabs(t);
    out.largest = std::max(out.largest, std::fabs(out.dy[j]));
  }
  const double count = static_cast<double>(n) * 0x1p-53;
  out.absolute = absolute * (1 + 4 * count);
  const double radius = 1.01 * count * count * out.absolute;
  const double s = sum.hi + sum.lo, around = radius + 0x1p-52 * std::fabs(s);
  out.s = {s - around, s + around};
  out.x.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    // dy - hi is d + e exactly.
    const double d = out.dy[j] - sum.hi, z = d - out.dy[j];
    const double e = (out.dy[j] - (d - z)) - (sum.hi + z);
    const double rest = e - sum.lo, difference = d + rest;
    const double x = out.y[j] * difference;
    const double off =
        1.01 * std::fabs(out.y[j]) * (radius + 0x1p-52 * std::fabs(rest) + 0x1p-51 * std::fabs(difference));
    out.x[j] = {x - off, x + off};
  }
  return out;
}

namespace {

/// Covers the evaluation of a bound in double.
constexpr double kInflateBackward = 1 + 0x1p-24;

}  // namespace

double BackwardBounds::element(const BackwardRow& r, std::size_t i) const {
  return (own[i] + std::fabs(r.y[i]) * sum) * kInflateBackward;
}

BackwardBounds backward_bounds(const Terms& t, const BackwardRow& row) {
  BackwardBounds b;
  const auto n = static_cast<double>(row.y.size());
  const double u = t.u, half = 0.5 * min_subnormal(t.arithmetic), flush = t.flush;
  const double grow = std::expm1((t.h + 1) * std::log1p(u));
  // Every product may underflow. If results are flushed, every addition may too, and a subnormal y or dy may
  // be read as 0.
  b.sum = (grow * row.absolute + (1 + grow) * n * (half + (4 + row.largest) * flush)) * kInflateBackward;
  const double s = std::max(std::fabs(row.s.lo), std::fabs(row.s.hi)), most = s + b.sum;
  b.own.resize(row.y.size());
  for (std::size_t i = 0; i < row.y.size(); ++i) {
    const double y = std::fabs(row.y[i]), x = std::max(std::fabs(row.x[i].lo), std::fabs(row.x[i].hi));
    const double products = u * (1 + u) * y * (std::fabs(row.dy[i]) + most);
    b.own[i] = (products + u * (x + y * b.sum) + 2 * (1 + u) * half +
                (5 + 2 * y + std::fabs(row.dy[i]) + most) * flush) *
               kInflateBackward;
  }
  return b;
}

std::string outside_backward(const Claim& claim, const BackwardRow& row) {
  if (claim.internals != Internals::f32)
    return "16-bit arithmetic: no bound of a backward pass is claimed for it";
  if (4 * (row.absolute + row.largest) >= max_finite(Dtype::f32)) return "a sum of y dy may overflow";
  return {};
}

Enclosure before_rounding(const Terms& t, Dtype out, double g) {
  if (!t.narrows || !std::isfinite(g)) return {g, g};
  const RoundsTo all = rounds_to(out, std::fabs(g));
  if (g == 0) return {-all.hi, all.hi};
  return g < 0 ? Enclosure{-all.hi, -all.lo} : Enclosure{all.lo, all.hi};
}

ImpliedSum implied_sum(const Terms& t, Dtype out, const BackwardRow& row, const BackwardBounds& b,
                       std::size_t i, double g) {
  const Enclosure v = before_rounding(t, out, g);
  const double y = std::fabs(row.y[i]), sign = row.y[i] < 0 ? -1 : 1;
  const double middle = 0.5 * (v.lo + v.hi), reach = 0.5 * (v.hi - v.lo);
  const double quotient = sign * middle / y;
  const double evaluation = 0x1p-50 * (std::fabs(row.dy[i]) + std::fabs(quotient));
  return {row.dy[i] - quotient, ((reach + b.own[i]) / y + evaluation) * kInflateBackward};
}

namespace {

/// A finite value within the bound may still round to infinity.
bool overflows(const BackwardContext& c, const Enclosure& x, double bound, double g) {
  const double most = max_finite(c.out) * (1 + 0.5 * unit_roundoff(c.out));
  return std::isinf(g) && (g > 0 ? x.hi + bound >= most : x.lo - bound <= -most);
}

void note_element(const BackwardContext& c, std::size_t i, double g, std::uint64_t bits, double bound,
                  double far, bool ok) {
  ErrorStatistics& s = c.statistics;
  const BackwardRow& r = c.row;
  const Enclosure x = r.x[i];
  const Enclosure errors = std::isinf(g) && ok ? Enclosure{0, 0} : ulp_error(c.out, g, x);
  const double error = errors.hi;
  const double middle = 0.5 * (x.lo + x.hi);
  // Beyond f32's numbers an error is only large.
  const double most = std::isfinite(error) ? std::min(error, 1e30) : error;
  s.take(std::min(errors.lo, most), most, encode(c.out, x.lo) == bits && encode(c.out, x.hi) == bits,
         !(bound < std::fabs(middle)));
  const double ratio = far / bound, sum = 0.5 * (r.s.lo + r.s.hi);
  s.take_worst(ok, {c.number, static_cast<std::int64_t>(i), r.dy[i], r.dy[i] - sum, g, x.lo, x.hi, error,
                    std::isnan(ratio) ? kInf : ratio});
  if (c.profile)
    c.profile->element(std::fabs(r.dy[i]), error, std::isfinite(g) ? signed_ulp_error(c.out, g, x) : kInf,
                       bound / ulp(c.out, middle));
}

void judge_element(const BackwardContext& c, const BackwardBounds& b, std::size_t i, double g,
                   std::uint64_t bits) {
  const BackwardRow& r = c.row;
  const Enclosure x = r.x[i];
  const double bound = b.element(r, i);
  const double scale = std::fabs(r.y[i]) * (std::fabs(r.dy[i]) + std::fabs(0.5 * (r.s.lo + r.s.hi)));
  // Below the smallest normal number an error is absolute, so its size relative to the result has no meaning.
  if (scale >= min_normal(c.terms.arithmetic))
    c.statistics.resolution.element(
        scale, bound,
        certainly_refused(c.terms, c.out, std::max(std::fabs(x.lo), std::fabs(x.hi)), bound) / scale);
  const Enclosure all = before_rounding(c.terms, c.out, g);
  const double seen = std::isnan(g) ? g : std::clamp(0.5 * (x.lo + x.hi), all.lo, all.hi);
  const double far = std::max(seen - x.lo, x.hi - seen), near = std::max({seen - x.hi, x.lo - seen, 0.0});
  const bool ok = overflows(c, x, bound, g)
                      ? c.tally.require(Check::element, true)
                      : c.tally.judge(Check::element, std::isnan(g) ? g : near, std::isnan(g) ? g : far,
                                      bound, bound * (1 + 0x1p-40));
  note_element(c, i, g, bits, bound, far, ok);
  if (!ok && c.tally.first(Check::element))
    c.tally.at(Check::element).detail = fmt::format(
        "row {}, column {}: got {:g}, exact {:.17g}, off by {:.4g}, bound {:.4g}; y = {:g}, dy = {:g}, "
        "sum y dy = {:.9g}",
        c.number, i, g, x.lo, std::fabs(g - x.lo), bound, r.y[i], r.dy[i], r.s.lo);
}

/// The sums implied by the elements that imply one.
struct Implied {
  std::vector<std::size_t> column;
  std::vector<ImpliedSum> sum;
  std::size_t highest = 0, lowest = 0;  // those with the largest lower, the smallest upper end
};

Implied implied_sums(const BackwardContext& c, const BackwardBounds& b, std::span<const double> values) {
  Implied all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (c.row.y[i] == 0 || !std::isfinite(values[i])) continue;
    const ImpliedSum s = implied_sum(c.terms, c.out, c.row, b, i, values[i]);
    if (!std::isfinite(s.lo()) || !std::isfinite(s.hi())) continue;
    all.column.push_back(i);
    all.sum.push_back(s);
    const std::size_t last = all.sum.size() - 1;
    if (s.lo() > all.sum[all.highest].lo()) all.highest = last;
    if (s.hi() < all.sum[all.lowest].hi()) all.lowest = last;
  }
  return all;
}

/// No single sum fits both of these two; returns the one that agrees with fewer of the others.
std::size_t odd_one(const Implied& all) {
  const auto disagreeing = [&](const ImpliedSum& s) {
    return std::count_if(all.sum.begin(), all.sum.end(),
                         [&](const ImpliedSum& o) { return o.lo() > s.hi() || o.hi() < s.lo(); });
  };
  return disagreeing(all.sum[all.highest]) >= disagreeing(all.sum[all.lowest]) ? all.highest : all.lowest;
}

/// One sum must fit every element. For intervals it is enough that the highest and the lowest overlap.
bool judge_coherence(const BackwardContext& c, const Implied& all, std::span<const double> values) {
  const ImpliedSum high = all.sum[all.highest], low = all.sum[all.lowest];
  const double error = std::max(0.0, high.middle - low.middle), bound = high.reach + low.reach;
  const bool ok = c.tally.judge(Check::coherence, error, error, bound, bound * (1 + 0x1p-24));
  if (!ok && c.tally.first(Check::coherence)) {
    const std::size_t odd = odd_one(all);
    const std::string cause = cause_of_outputs(c, values);
    c.tally.at(Check::coherence).detail = fmt::format(
        "row {}: no one sum y dy gives all its outputs; column {} (got {:g}) needs {:.9g} +- {:.2g}, "
        "column {} {:.9g} +- {:.2g}{}{}",
        c.number, all.column[odd], values[all.column[odd]], all.sum[odd].middle, all.sum[odd].reach,
        all.column[odd == all.highest ? all.lowest : all.highest],
        odd == all.highest ? low.middle : high.middle, odd == all.highest ? low.reach : high.reach,
        cause.empty() ? "" : ": ", cause);
  }
  return ok;
}

/// The common sum must be near the exact one.
void judge_sum(const BackwardContext& c, const BackwardBounds& b, double lo, double hi,
               const OtherSums& other_sums) {
  // Two intervals overlap if their middles are no further apart than the sum of their two reaches.
  const double exact = 0.5 * (c.row.s.lo + c.row.s.hi), width = c.row.s.hi - c.row.s.lo;
  const double off = std::fabs(0.5 * (lo + hi) - exact), bound = b.sum + 0.5 * (hi - lo);
  if (!c.tally.judge(Check::row_sum, off - width, off + width, bound, bound * (1 + 0x1p-24)) &&
      c.tally.first(Check::row_sum)) {
    const std::string cause = cause_of_sum(c.row, lo, hi, other_sums());
    c.tally.at(Check::row_sum).detail = fmt::format(
        "row {}: its outputs were made with a sum of {:.9g} to {:.9g}, sum y dy is {:.9g}, bound {:.4g}{}{}",
        c.number, lo, hi, c.row.s.lo, b.sum, cause.empty() ? "" : ": ", cause);
  }
}

}  // namespace

void judge_backward(const BackwardContext& c, std::span<const double> values,
                    std::span<const std::uint64_t> bits, const OtherSums& other_sums) {
  const BackwardBounds b = backward_bounds(c.terms, c.row);
  for (std::size_t i = 0; i < values.size(); ++i) judge_element(c, b, i, values[i], bits[i]);
  c.statistics.resolution.row(resolution_limit(c.out));
  const Implied all = implied_sums(c, b, values);
  if (all.sum.empty()) return;
  const double lo = all.sum[all.highest].lo(), hi = all.sum[all.lowest].hi();
  if (judge_coherence(c, all, values)) judge_sum(c, b, std::min(lo, hi), std::max(lo, hi), other_sums);
}

void judge_special_backward(const BackwardContext& c, std::span<const double> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double g = values[i];
    const bool ok = c.row.nan ? std::isnan(g) : !std::isfinite(g);
    if (!c.tally.require(Check::special, ok) && c.tally.first(Check::special))
      c.tally.at(Check::special).detail = fmt::format(
          "row {}, column {}: y or dy of the row holds {}, got {:g}", c.number, i,
          c.row.nan ? "a NaN, which must give NaN" : "an infinity, which leaves nothing finite", g);
  }
}

/// The usual mistakes of a backward pass, found from the sum that its outputs imply. They only give words to
/// a failure; no verdict depends on them.
std::string cause_of_sum(const BackwardRow& row, double lo, double hi, std::span<const NamedSum> other_sums) {
  const double s = 0.5 * (row.s.lo + row.s.hi);
  // The implied sum is an interval as wide as a few roundings. A sum that is rounded differently lies close
  // to it.
  const double room = 4 * (hi - lo) + 0x1p-20 * row.absolute;
  const auto is = [&](double other) {
    return other >= lo - room && other <= hi + room && std::fabs(other - s) > 2 * room;
  };
  if (is(-s)) return "the sum has the wrong sign";
  if (is(0)) return "no sum was subtracted";
  if (row.y.size() > 1 && is(s - row.y.back() * row.dy.back())) return "the sum lacks the last column";
  for (const NamedSum& o : other_sums)
    if (is(o.s)) return fmt::format("it is the sum of {}", o.name);
  double dy = 0;
  for (const double g : row.dy) dy += g;
  if (is(dy)) return "it is the sum of dy alone";
  if (is(s / static_cast<double>(row.y.size()))) return "it is a mean, not a sum";
  for (std::size_t j = 0; j < row.y.size(); ++j)
    if (is(s - row.y[j] * row.dy[j])) return fmt::format("it lacks no more than column {}", j);
  return {};
}

std::string cause_of_outputs(const BackwardContext& c, std::span<const double> values) {
  const BackwardRow& r = c.row;
  const double s = 0.5 * (r.s.lo + r.s.hi);
  const double u = std::max(unit_roundoff(c.out), 0x1p-20);
  const auto all = [&](auto formula) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double scale = (1 + std::fabs(r.y[i])) * (std::fabs(r.dy[i]) + std::fabs(s) + r.absolute);
      if (!(std::fabs(values[i] - formula(i)) <= 8 * u * scale)) return false;
    }
    return true;
  };
  if (all([&](std::size_t i) { return r.dy[i] * (r.y[i] - s); })) return "y and dy are swapped";
  if (all([&](std::size_t i) { return r.dy[i] - s; })) return "y is missing as a factor";
  if (all([&](std::size_t i) { return r.dy[i] - r.y[i] * s; })) return "y is missing as a factor of dy";
  if (all([&](std::size_t) { return 0.0; })) return "every output is 0";
  return {};
}

}  // namespace assay
