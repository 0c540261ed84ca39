// SPDX-License-Identifier: Apache-2.0
// Compiled twice, like reference/oracle/fast_row_kernel.cpp: ASSAY_CPU is generic or avx2. A row is processed
// in blocks that fit the first-level cache. First come loops without branches over a block's elements, which
// the compiler vectorises. Then come sums in lanes, in an order that no compiler may change.
#include "accuracy/fast_judge/kernel.hpp"

namespace assay::fast::ASSAY_CPU {
namespace {

constexpr std::int64_t kBlock = 256;
constexpr std::int64_t kLanes = 8;
typedef double Doubles __attribute__((vector_size(kLanes * sizeof(double))));
typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));

template <class Vector, class Element>
Vector load(const Element* p) {
  Vector v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}

/// A double-double sum in eight lanes; it keeps the error of each addition.
struct LaneSum {
  Doubles hi{}, lo{};
  void add(Doubles v) {
    const Doubles t = hi + v;
    const Doubles z = t - hi;
    lo += (hi - (t - z)) + (v - z);
    hi = t;
  }
  double total() const {
    double sum = 0, rest = 0;
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const double t = sum + hi[l];
      const double z = t - sum;
      rest += (sum - (t - z)) + (hi[l] - z) + lo[l];
      sum = t;
    }
    return sum + rest;
  }
};

/// The largest logit; NaN if the row holds a NaN (such rows are not judged here).
float maximum(const float* x, std::int64_t V) {
  Floats m = Floats{} - __builtin_inff(), nan = {};
  std::int64_t i = 0;
  for (; i + kLanes <= V; i += kLanes) {
    const Floats v = load<Floats>(x + i);
    m = v > m ? v : m;
    nan += v != v ? Floats{} + 1 : Floats{};
  }
  float all = -__builtin_inff(), any_nan = 0;
  for (std::int64_t l = 0; l < kLanes; ++l) {
    all = m[l] > all ? m[l] : all;
    any_nan += nan[l];
  }
  for (; i < V; ++i) {
    all = x[i] > all ? x[i] : all;
    any_nan += x[i] != x[i] ? 1 : 0;
  }
  return any_nan > 0 ? __builtin_nanf("") : all;
}

/// A block of elements. The last block of a row is padded with -inf logits and outputs of 0. These pass and
/// add nothing (their ulp error is 0, and they are not counted).
struct Block {
  float x[kBlock], g[kBlock];
  double e[kBlock], weighted[kBlock];
  double error[kBlock], bound[kBlock], ulp[kBlock], open[kBlock], right[kBlock], near_half[kBlock];
};

// The constants are passed by value: local variables need no loads under a condition.
void exps(const ClaimConstants c, float m, const float* __restrict x, double* __restrict e,
          double* __restrict weighted) {
  for (std::int64_t i = 0; i < kBlock; ++i) {
    float f, err;
    round_shift(x[i], m, f, err);
    e[i] = exp_shift(f, err);
    const bool near = f >= kNearest;
    weighted[i] = e[i] * static_cast<double>(near ? own_error(c, f, err) : 0.0f);
  }
}

void verdicts(const ClaimConstants c, const RowConstants r, const float* __restrict x,
              const float* __restrict g, const double* __restrict e, Block& b) {
  for (std::int64_t i = 0; i < kBlock; ++i) {
    const ElementVerdict v = judge(c, r, x[i], g[i], e[i]);
    b.error[i] = v.error;
    b.bound[i] = v.bound;
    b.ulp[i] = static_cast<double>(v.ulp);
    b.open[i] = v.pass ? 0.0 : 1.0;
    b.right[i] = v.ulp <= 0.5f - kRoundingSlack ? 1.0 : 0.0;
    b.near_half[i] =
        (v.ulp > 0.5f - kRoundingSlack ? 1.0 : 0.0) * (v.ulp < 0.5f + kRoundingSlack ? 1.0 : 0.0);
  }
}

double lanes_sum(Doubles v) {
  double s = 0;
  for (std::int64_t l = 0; l < kLanes; ++l) s += v[l];
  return s;
}
double lanes_max(Doubles v) {
  double s = 0;
  for (std::int64_t l = 0; l < kLanes; ++l) s = v[l] > s ? v[l] : s;
  return s;
}

RowLook row(const ClaimConstants& c, const float* x, const float* g, std::int64_t V, double* e) {
  RowLook look;
  const float m = maximum(x, V);
  if (!(m >= -0x1.fffffep127f && m <= 0x1.fffffep127f)) {
    look.open = V;
    return look;
  }
  Block b;
  const std::int64_t full = V / kBlock * kBlock;
  const auto fill = [&](const float* from, float* to, float with) {
    for (std::int64_t i = 0; i < kBlock; ++i) to[i] = full + i < V ? from[full + i] : with;
  };

  LaneSum s;
  Doubles weighted{};
  const auto sum_block = [&](const double* block) {
    for (std::int64_t i = 0; i < kBlock; i += kLanes) {
      s.add(load<Doubles>(block + i));
      weighted += load<Doubles>(b.weighted + i);
    }
  };
  for (std::int64_t i = 0; i < full; i += kBlock) {
    exps(c, m, x + i, e + i, b.weighted);
    sum_block(e + i);
  }
  if (full < V) {
    fill(x, b.x, -__builtin_inff());
    fill(g, b.g, 0.0f);
    exps(c, m, b.x, b.e, b.weighted);
    sum_block(b.e);
  }
  const RowConstants r = row_constants(c, m, s.total(), lanes_sum(weighted));

  LaneSum sum;
  Doubles max_ulp{}, sum_ulp{}, open{}, right{}, near_half{}, worst{};
  const auto tally_block = [&](const float* outputs) {
    for (std::int64_t i = 0; i < kBlock; i += kLanes) {
      sum.add(__builtin_convertvector(load<Floats>(outputs + i), Doubles));
      const Doubles ulp = load<Doubles>(b.ulp + i);
      max_ulp = ulp > max_ulp ? ulp : max_ulp;
      sum_ulp += ulp;
      open += load<Doubles>(b.open + i);
      right += load<Doubles>(b.right + i);
      near_half += load<Doubles>(b.near_half + i);
      const Doubles ratio = load<Doubles>(b.error + i) / load<Doubles>(b.bound + i);
      worst = ratio > worst ? ratio : worst;  // false for 0 / 0
    }
  };
  for (std::int64_t i = 0; i < full; i += kBlock) {
    verdicts(c, r, x + i, g + i, e + i, b);
    tally_block(g + i);
  }
  if (full < V) {
    verdicts(c, r, b.x, b.g, b.e, b);
    tally_block(b.g);
  }
  look.open = static_cast<std::int64_t>(lanes_sum(open));
  look.sum = sum.total();
  Statistics& t = look.statistics;
  t.correctly_rounded = static_cast<std::int64_t>(lanes_sum(right)) - (full < V ? full + kBlock - V : 0);
  t.rounding_undecided = static_cast<std::int64_t>(lanes_sum(near_half));
  t.max_ulp = static_cast<float>(lanes_max(max_ulp));
  t.sum_ulp = lanes_sum(sum_ulp);
  t.utilisation = lanes_max(worst);
  if (!row_sum_passes(c, r, look.sum) && look.open == 0) look.open = 1;
  return look;
}

}  // namespace

const JudgeKernel judge_kernel = {row};

}  // namespace assay::fast::ASSAY_CPU
