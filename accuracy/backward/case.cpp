// SPDX-License-Identifier: Apache-2.0
#include "accuracy/backward/case.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace assay
