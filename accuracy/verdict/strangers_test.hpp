// SPDX-License-Identifier: Apache-2.0
// Kernels without a declaration, for tests: plain code behind a Variant of the plugin backend. Some are
// right, some are wrong; each is a way in which softmax is really written.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/written_rows.hpp"
#include "kernels/candidate.hpp"
#include "kernels/declaration.hpp"
#include "kernels/registry.hpp"
#include "reference/inputs/inputs.hpp"
#include "reference/tensor.hpp"

namespace assay::strangers {

/// One row of row length V: V logits as float, V results as float.
using RowKernel = void (*)(const float* x, float* p, std::int64_t V);

inline float max_of(const float* x, std::int64_t V) {
  float m = -INFINITY;
  for (std::int64_t i = 0; i < V; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

inline void two_pass(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i] - m);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}

inline void kahan(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0, lost = 0;
  for (std::int64_t i = 0; i < V; ++i) {
    p[i] = std::exp(x[i] - m);
    const float y = p[i] - lost, t = d + y;
    lost = (t - d) - y;
    d = t;
  }
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}

inline float pairwise(const float* e, std::int64_t n) {
  return n == 1 ? e[0] : pairwise(e, n / 2) + pairwise(e + n / 2, n - n / 2);
}
inline void tree(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  for (std::int64_t i = 0; i < V; ++i) p[i] = std::exp(x[i] - m);
  const float d = pairwise(p, V);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}

/// Milakov's algorithm: the sum is rescaled whenever the maximum grows; the outputs use the final maximum.
struct MaximumAndSum {
  float m = -INFINITY, d = 0;
};
inline MaximumAndSum online_sum(const float* x, std::int64_t V) {
  MaximumAndSum s;
  for (std::int64_t i = 0; i < V; ++i) {
    const float next = std::fmax(s.m, x[i]);
    if (x[i] == -INFINITY) continue;
    s.d = s.d * std::exp(s.m - next) + std::exp(x[i] - next);
    s.m = next;
  }
  return s;
}
inline void online(const float* x, float* p, std::int64_t V) {
  const auto [m, d] = online_sum(x, V);
  for (std::int64_t i = 0; i < V; ++i) p[i] = std::exp(x[i] - m) / d;
}

/// One pass over tiles of 64. Each exp is kept as it was taken, and rescaled to the row's maximum at the end.
inline void kept(const float* x, float* p, std::int64_t V) {
  constexpr std::int64_t kTile = 64;
  std::vector<float> of_tile;
  float m = -INFINITY, d = 0;
  for (std::int64_t begin = 0; begin < V; begin += kTile) {
    const std::int64_t end = std::min(begin + kTile, V);
    const float tile = max_of(x + begin, end - begin), next = std::fmax(m, tile);
    of_tile.push_back(tile);
    float sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += p[i] = tile == -INFINITY ? 0 : std::exp(x[i] - tile);
    if (next == -INFINITY) continue;
    d = d * std::exp(m - next) + sum * std::exp(tile - next);
    m = next;
  }
  for (std::int64_t i = 0; i < V; ++i) {
    const float tile = of_tile[static_cast<std::size_t>(i / kTile)];
    p[i] = p[i] * (tile == m ? 1 : std::exp(tile - m)) / d;
  }
}

constexpr float kLog2e = 0x1.715476p+0f;
inline void exp2_product(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp2((x[i] - m) * kLog2e);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
inline void exp2_fma(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V), c = m * kLog2e;
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp2(std::fma(x[i], kLog2e, -c));
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
inline void reciprocal(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i] - m);
  const float r = 1 / d;
  for (std::int64_t i = 0; i < V; ++i) p[i] *= r;
}
/// More precise than needed: double inside.
inline void in_double(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  double d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += std::exp(static_cast<double>(x[i]) - static_cast<double>(m));
  for (std::int64_t i = 0; i < V; ++i)
    p[i] = static_cast<float>(std::exp(static_cast<double>(x[i]) - static_cast<double>(m)) / d);
}
/// Eight lanes of partial sums and a scalar tail, as a vectorised loop has.
inline void lanes(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float part[8] = {};
  for (std::int64_t i = 0; i < V; ++i) part[i % 8] += p[i] = std::exp(x[i] - m);
  const float d = ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
/// The maximum starts at the smallest finite number; a row of -inf gives 0 / 0.
inline void sentinel(const float* x, float* p, std::int64_t V) {
  float m = -FLT_MAX, d = 0;
  for (std::int64_t i = 0; i < V; ++i) m = std::fmax(m, x[i]);
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i] - m);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
inline void zero_policy(const float* x, float* p, std::int64_t V) {
  if (max_of(x, V) == -INFINITY && std::all_of(x, x + V, [](float a) { return a == -INFINITY; }))
    return std::fill(p, p + V, 0.0f);
  two_pass(x, p, V);
}
/// The terms are added in a different order in every launch.
inline void atomics(const float* x, float* p, std::int64_t V) {
  static std::mt19937 random(7);
  const float m = max_of(x, V);
  std::vector<float> terms;
  for (std::int64_t i = 0; i < V; ++i) terms.push_back(p[i] = std::exp(x[i] - m));
  std::shuffle(terms.begin(), terms.end(), random);
  float d = 0;
  for (const float e : terms) d += e;
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
inline float flushed(float y) { return std::fabs(y) < FLT_MIN ? 0 : y; }
/// Every subnormal number becomes 0, as with -ftz=true.
inline void ftz(const float* x, float* p, std::int64_t V) {
  std::vector<float> y(x, x + V);
  for (float& a : y) a = flushed(a);
  const float m = max_of(y.data(), V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i)
    d += p[i] = flushed(std::exp(flushed(y[static_cast<std::size_t>(i)] - m)));
  for (std::int64_t i = 0; i < V; ++i) p[i] = flushed(p[i] / d);
}
inline float to_f16(float y) { return static_cast<float>(round_to(Dtype::f16, static_cast<double>(y))); }
inline float to_bf16(float y) { return static_cast<float>(round_to(Dtype::bf16, static_cast<double>(y))); }
/// Every operation in f16, as with half intrinsics; the sum has eight lanes.
inline void half_inside(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  for (std::int64_t i = 0; i < V; ++i) p[i] = to_f16(std::exp(to_f16(x[i] - m)));
  float part[8] = {}, d = 0;
  for (std::int64_t i = 0; i < V; ++i) part[i % 8] = to_f16(part[i % 8] + p[i]);
  for (const float a : part) d = to_f16(d + a);
  for (std::int64_t i = 0; i < V; ++i) p[i] = to_f16(p[i] / d);
}

// Wrong ones.

/// Each of 32 lanes takes its own maximum, and the maxima are never combined: all shift by lane 0's.
inline void lane_maximum(const float* x, float* p, std::int64_t V) {
  float m[32];
  std::fill(m, m + 32, -INFINITY);
  for (std::int64_t i = 0; i < V; ++i) m[i % 32] = std::fmax(m[i % 32], x[i]);
  const float first = m[0];
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i] - first);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
/// Subtracts the maximum of the first tile only.
inline void tile_maximum(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, std::min<std::int64_t>(V, 256));
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i] - m);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
inline void zeros(const float*, float* p, std::int64_t V) { std::fill(p, p + V, 0.0f); }
inline void uniform(const float*, float* p, std::int64_t V) {
  std::fill(p, p + V, 1 / static_cast<float>(V));
}
template <float (*narrow)(float)>
void narrow_sum(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d = narrow(d + (p[i] = std::exp(x[i] - m)));
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
inline void skips_last(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) {
    p[i] = std::exp(x[i] - m);
    if (i + 1 < V || V == 1) d += p[i];
  }
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
inline void no_maximum(const float* x, float* p, std::int64_t V) {
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp(x[i]);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
/// The products with log2 e are rounded before they are subtracted.
inline void exp2_apart(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V) * kLog2e;
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) d += p[i] = std::exp2(x[i] * kLog2e - m);
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}

/// An f32 softmax in this process that declares nothing. The test gives it operands and what it runs.
inline Variant here(std::uint32_t operands, decltype(Variant::run) run) {
  Variant v;
  v.variant = "stranger";
  v.dtype = Dtype::f32;
  v.backend = Backend::host;
  v.op = Op::softmax;
  v.claim = undeclared_claim(v.op);
  v.limits = undeclared_limits();
  v.writes_normalizer = v.declared = false;
  v.operands.parts = operands;
  v.run = std::move(run);
  return v;
}

/// A softmax kernel of the plugin backend, with a declaration.
inline Variant stranger(RowKernel kernel, const char* declaration = "", Dtype in = Dtype::f32,
                        Dtype out = Dtype::f32) {
  Variant v;
  v.variant = "theirs";
  v.dtype = in;
  v.out_dtype = out;
  v.backend = Backend::plugin;
  v.claim = undeclared_claim(v.op);
  v.writes_normalizer = false;
  v.declared = false;
  v.run = [kernel](const Problem& p, const Buffers& b, const Stream&) {
    std::vector<float> x(static_cast<std::size_t>(p.V)), y(x);
    for (std::int64_t r = 0; r < p.rows; ++r) {
      for (std::int64_t j = 0; j < p.V; ++j)
        x[static_cast<std::size_t>(j)] = static_cast<float>(
            decode(p.in, load_bits(p.in, static_cast<const std::byte*>(b.logits), r * p.in_pitch + j)));
      if (p.V > 0) kernel(x.data(), y.data(), p.V);
      for (std::int64_t j = 0; j < p.V; ++j)
        store_bits(p.out, static_cast<std::byte*>(b.probs), r * p.out_pitch + j,
                   encode(p.out, static_cast<double>(y[static_cast<std::size_t>(j)])));
    }
  };
  apply_declaration(declaration, v);
  return v;
}

}  // namespace assay::strangers

namespace assay {

/// A launcher of tests, in this process. A test says what one launch does.
class HereLauncher : public Launcher {
 public:
  /// One after the other: one launch of a test does not disturb another.
  std::array<LaunchOutcome, 2> launch_both(const Variant& v, const Problem& p, std::array<Images*, 2> images,
                                           const LaunchOptions& o) override {
    return {launch(v, p, *images[0], o), launch(v, p, *images[1], o)};
  }
  std::string cannot(const LaunchOptions&) const override { return {}; }
  bool on_device() const override { return false; }
  void restart() override {}
};

}  // namespace assay

namespace assay::toxic {

/// Outputs without a kernel, for tests: clearly wrong ones, correctly rounded ones, and the rows that they
/// belong to.
class MadeOutputs final : public WrittenRows {
 public:
  MadeOutputs(const Variant& v, std::int64_t rows, std::int64_t V, std::vector<double> values)
      : problem_(problem_of(v, v.op, rows, V, 0, V)), values_(std::move(values)) {
    for (double& p : values_) p = round_to(v.out(), p);
  }
  const Problem& problem() const override { return problem_; }
  std::uint64_t value_bits(std::int64_t row, std::int64_t j) const override {
    return encode(problem_.out, values_[static_cast<std::size_t>(row * problem_.out_columns() + j)]);
  }
  bool has_values() const override { return true; }
  bool has_indices() const override { return false; }
  std::int64_t index(std::int64_t, std::int64_t) const override { return -1; }
  bool has_normalizer() const override { return false; }
  float m(std::int64_t) const override { return 0; }
  float d(std::int64_t) const override { return 0; }
  const std::vector<double>& values() const { return values_; }

 private:
  Problem problem_;
  std::vector<double> values_;
};

/// Inputs and exact results, computed once for all tests.
inline const Case& rows_of(const char* family, Dtype t, std::int64_t V, std::int64_t rows = 2) {
  static std::map<std::tuple<std::string, Dtype, std::int64_t, std::int64_t>, std::unique_ptr<Case>> made;
  auto& c = made[{family, t, V, rows}];
  if (c) return *c;
  c = std::make_unique<Case>(*find_family(family), t, V, rows, 1);
  return *c;
}

/// The value of one output.
using Value = double (*)(const Case& c, std::int64_t row, std::size_t j);
struct Toxic {
  const char* name;
  Value output;
};

/// All outputs of the variant's own op, rounded to its format.
inline MadeOutputs outputs_of(const Variant& v, const Case& c, Value of) {
  const Problem p = problem_of(v, v.op, c.rows(), c.V(), 0, c.V());
  std::vector<double> values;
  for (std::int64_t row = 0; row < c.rows(); ++row)
    for (std::int64_t j = 0; j < p.out_columns(); ++j)
      values.push_back(of(c, row, static_cast<std::size_t>(j)));
  return {v, c.rows(), c.V(), std::move(values)};
}

inline double exact(const Case& c, std::int64_t row, std::size_t j) {
  return 0.5 * (c.truth(row).lo[j] + c.truth(row).hi[j]);
}
/// The sum without every 256th term.
inline double without_a_thread(const RowTruth& t) {
  double lost = 0;
  for (std::size_t j = 255; j < t.x.size(); j += 256) lost += t.lo[j];
  return 1 - lost;
}
inline constexpr Toxic kToxic[] = {
    {"zeros", [](const Case&, std::int64_t, std::size_t) { return 0.0; }},
    {"1/V", [](const Case& c, std::int64_t, std::size_t) { return 1 / static_cast<double>(c.V()); }},
    {"one-hot",
     [](const Case& c, std::int64_t row, std::size_t j) {
       return static_cast<std::int64_t>(j) == c.truth(row).argmax ? 1.0 : 0.0;
     }},
    {"p/2", [](const Case& c, std::int64_t row, std::size_t j) { return exact(c, row, j) / 2; }},
    {"p/7", [](const Case& c, std::int64_t row, std::size_t j) { return exact(c, row, j) / 7; }},
    {"1.01 p", [](const Case& c, std::int64_t row, std::size_t j) { return 1.01 * exact(c, row, j); }},
    {"the next row's",
     [](const Case& c, std::int64_t row, std::size_t j) { return exact(c, (row + 1) % c.rows(), j); }},
    {"a sum without 1/256 of its terms",
     [](const Case& c, std::int64_t row, std::size_t j) {
       return exact(c, row, j) / without_a_thread(c.truth(row));
     }},
};

}  // namespace assay::toxic
