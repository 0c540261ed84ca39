// Compiled twice, as reference/fast_row_kernel.cpp: ASSAY_CPU is generic or avx2. The loops over e are shaped
// for the vectoriser: no branch, one store, reductions in lanes.
#include "accuracy/fast_judge_kernel.hpp"

namespace assay::fast::ASSAY_CPU {
namespace {

constexpr std::int64_t kLanes = 8;

/// A double-double sum in eight lanes: each addition's error is kept.
struct LaneSum {
  double hi[kLanes] = {}, lo[kLanes] = {};
  void add(std::int64_t lane, double v) {
    const double t = hi[lane] + v;
    const double z = t - hi[lane];
    lo[lane] += (hi[lane] - (t - z)) + (v - z);
    hi[lane] = t;
  }
  double total() const {
    LaneSum s;
    for (std::int64_t l = 0; l < kLanes; ++l) {
      s.add(0, hi[l]);
      s.lo[0] += lo[l];
    }
    return s.hi[0] + s.lo[0];
  }
};

/// The largest logit; NaN or +inf where there is one (their rows are not judged here).
float maximum(const float* x, std::int64_t V) {
  float m = -__builtin_inff();
  bool nan = false;
  for (std::int64_t i = 0; i < V; ++i) {
    m = x[i] > m ? x[i] : m;
    nan |= x[i] != x[i];
  }
  return nan ? __builtin_nanf("") : m;
}

RowLook row(const ClaimConstants& c, const float* x, const float* g, std::int64_t V, double* e) {
  RowLook look;
  const float m = maximum(x, V);
  if (!(m >= -0x1.fffffep127f && m <= 0x1.fffffep127f)) {
    look.open = V;
    return look;
  }
  for (std::int64_t i = 0; i < V; ++i) {
    float f, err;
    round_shift(x[i], m, f, err);
    e[i] = exp_shift(f, err);
  }
  LaneSum s;
  double weighted[kLanes] = {};
  for (std::int64_t i = 0; i < V; i += kLanes)
    for (std::int64_t l = 0; l < kLanes && i + l < V; ++l) {
      float f, err;
      round_shift(x[i + l], m, f, err);
      s.add(l, e[i + l]);
      weighted[l] += e[i + l] > 0 ? e[i + l] * own_error(c, f, err) : 0;
    }
  double all_weighted = 0;
  for (double w : weighted) all_weighted += w;
  const RowConstants r = row_constants(c, m, s.total(), all_weighted);

  LaneSum sum;
  float max_ulp[kLanes] = {};
  double sum_ulp[kLanes] = {}, utilisation[kLanes] = {};
  std::int64_t open = 0, correctly_rounded = 0, undecided = 0;
  for (std::int64_t i = 0; i < V; i += kLanes)
    for (std::int64_t l = 0; l < kLanes && i + l < V; ++l) {
      const ElementVerdict v = judge(c, r, x[i + l], g[i + l], e[i + l]);
      open += !v.pass;
      sum.add(l, static_cast<double>(g[i + l]));
      max_ulp[l] = v.ulp > max_ulp[l] ? v.ulp : max_ulp[l];
      sum_ulp[l] += static_cast<double>(v.ulp);
      const bool near = v.ulp > 0.5f - kRoundingSlack && v.ulp < 0.5f + kRoundingSlack;
      correctly_rounded += v.ulp <= 0.5f && !near;
      undecided += near;
      const double ratio = v.bound > 0 ? v.error / v.bound : 0;
      utilisation[l] = ratio > utilisation[l] ? ratio : utilisation[l];
    }
  look.open = open;
  look.sum = sum.total();
  Statistics& t = look.statistics;
  t.correctly_rounded = correctly_rounded;
  t.rounding_undecided = undecided;
  for (std::int64_t l = 0; l < kLanes; ++l) {
    t.max_ulp = max_ulp[l] > t.max_ulp ? max_ulp[l] : t.max_ulp;
    t.sum_ulp += sum_ulp[l];
    t.utilisation = utilisation[l] > t.utilisation ? utilisation[l] : t.utilisation;
  }
  if (!row_sum_passes(c, r, look.sum) && look.open == 0) look.open = 1;
  return look;
}

}  // namespace

const JudgeKernel judge_kernel = {row};

}  // namespace assay::fast::ASSAY_CPU
