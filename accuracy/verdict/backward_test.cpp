// SPDX-License-Identifier: Apache-2.0
// Backward passes: the exact dx against MPFR, right kernels in every form, and planted faults, each refused
// with the name of its cause.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <functional>

#include "accuracy/backward/judge.hpp"
#include "accuracy/verdict/checker.hpp"
#include "reference/mpfr_value.hpp"

namespace assay {
namespace {

/// Exact: products of two f32 have 48 bits, and no exponent is below -298 or above 256 + 20.
constexpr mpfr_prec_t kExact = 1400;

TEST(BackwardTruth, ContainsWhatMpfrSaysAndIsNarrow) {
  std::int64_t judged = 0;
  for (const Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32})
    for (const char* family : {"normal_1", "normal_10", "row_encoded", "inf_thread", "long_tail"})
      for (const std::int64_t V : {1, 2, 33, 700}) {
        if (!applies(*find_family(family), t, V)) continue;
        const Case logits(*find_family(family), t, V, 12, 7);
        const Case& c = logits.backward();
        for (std::int64_t r = 0; r < c.rows(); ++r) {
          const BackwardRow row = backward_row(c.logits(), *c.gradients(), r);
          if (row.special) continue;
          MpfrValue s(kExact), x(kExact), size(kExact);
          mpfr_set_zero(s, 1);
          mpfr_set_zero(size, 1);
          for (std::size_t j = 0; j < row.y.size(); ++j) {
            mpfr_set_d(x, row.y[j], MPFR_RNDN);
            mpfr_mul_d(x, x, row.dy[j], MPFR_RNDN);
            ASSERT_EQ(mpfr_add(s, s, x, MPFR_RNDN), 0) << "not exact";
            mpfr_abs(x, x, MPFR_RNDN);
            mpfr_add(size, size, x, MPFR_RNDN);
          }
          EXPECT_LE(mpfr_cmp_d(s, row.s.hi), 0);
          EXPECT_GE(mpfr_cmp_d(s, row.s.lo), 0);
          EXPECT_LE(mpfr_cmp_d(size, row.absolute), 0);
          for (std::size_t j = 0; j < row.y.size(); ++j) {
            mpfr_d_sub(x, row.dy[j], s, MPFR_RNDN);
            mpfr_mul_d(x, x, row.y[j], MPFR_RNDN);
            ASSERT_LE(mpfr_cmp_d(x, row.x[j].hi), 0) << family << " " << V << " " << r << " " << j;
            ASSERT_GE(mpfr_cmp_d(x, row.x[j].lo), 0) << family << " " << V << " " << r << " " << j;
            const double width = row.x[j].hi - row.x[j].lo;
            EXPECT_LE(width,
                      0x1p-48 * std::fabs(row.x[j].lo) + 0x1p-70 * row.y[j] * (row.absolute + row.largest));
            ++judged;
          }
        }
      }
  EXPECT_GT(judged, 5000);
}

/// One row of f32, or of values that are rounded to the variant's type.
using GradientRows =
    std::function<void(const std::vector<float>& y, const std::vector<float>& dy, std::vector<float>& dx)>;
struct Rows {
  const Problem& p;
  const Buffers& b;
  std::vector<float> row(const void* base, std::int64_t r) const {
    std::vector<float> x;
    for (std::int64_t j = 0; j < p.V; ++j)
      x.push_back(static_cast<float>(decode(p.in, load_bits(p.in, base, r * p.in_pitch + j))));
    return x;
  }
};

Variant kernel(Dtype t, GradientRows f, bool neighbour = false) {
  Variant v;
  v.variant = "planted";
  v.dtype = t;
  v.op = Op::softmax_backward;
  v.claim.height = [](std::int64_t V) { return V; };
  v.run = [f = std::move(f), neighbour](const Problem& p, const Buffers& b, const Stream&) {
    const Rows rows{p, b};
    for (std::int64_t r = 0; r < p.rows; ++r) {
      std::vector<float> y = rows.row(b.logits, r), dy = rows.row(b.gradients, r), dx(y.size());
      if (neighbour) {
        const std::int64_t other = (r + 1) % p.rows;
        const std::vector<float> oy = rows.row(b.logits, other), ody = rows.row(b.gradients, other);
        float s = 0;
        for (std::size_t j = 0; j < y.size(); ++j) s += oy[j] * ody[j];
        for (std::size_t j = 0; j < y.size(); ++j) dx[j] = y[j] * (dy[j] - s);
      } else {
        f(y, dy, dx);
      }
      for (std::int64_t j = 0; j < p.V; ++j)
        store_bits(p.out, b.probs, r * p.out_pitch + j,
                   encode(p.out, static_cast<double>(dx[static_cast<std::size_t>(j)])));
    }
  };
  return v;
}

float sum_of(const std::vector<float>& y, const std::vector<float>& dy, std::size_t n) {
  float s = 0;
  for (std::size_t j = 0; j < n; ++j) s += y[j] * dy[j];
  return s;
}

Record judged(const Variant& v, const char* family, std::int64_t V, std::int64_t rows = 4) {
  const Case c(*find_family(family), v.dtype, V, rows, 1);
  return check_case(v, c, Op::softmax_backward, 0);
}

class BackwardTypes : public testing::TestWithParam<Dtype> {};
INSTANTIATE_TEST_SUITE_P(, BackwardTypes, testing::Values(Dtype::f16, Dtype::bf16, Dtype::f32),
                         [](const auto& i) { return std::string(name(i.param)); });

/// The three ways to write it: y (dy - s), y dy - y s, and the same with one fma.
const GradientRows kForms[] = {
    [](const auto& y, const auto& dy, auto& dx) {
      const float s = sum_of(y, dy, y.size());
      for (std::size_t j = 0; j < y.size(); ++j) dx[j] = y[j] * (dy[j] - s);
    },
    [](const auto& y, const auto& dy, auto& dx) {
      const float s = sum_of(y, dy, y.size());
      for (std::size_t j = 0; j < y.size(); ++j) dx[j] = y[j] * dy[j] - y[j] * s;
    },
    [](const auto& y, const auto& dy, auto& dx) {
      float s = 0;
      for (std::size_t j = 0; j < y.size(); ++j) s = std::fma(y[j], dy[j], s);
      for (std::size_t j = 0; j < y.size(); ++j) dx[j] = std::fma(-y[j], s, y[j] * dy[j]);
    },
};

TEST_P(BackwardTypes, RightKernelsPassInEveryFormOnEveryFamily) {
  int passed = 0;
  for (const Family& family : families())
    for (const std::int64_t V : {1, 2, 33, 1000}) {
      if (!applies(family, GetParam(), V)) continue;
      for (const GradientRows& form : kForms)
        for (const bool undeclared : {false, true}) {
          Variant v = kernel(GetParam(), form);
          if (undeclared) v.claim = undeclared_claim(v.op);
          const Record r = judged(v, family.name, V);
          EXPECT_EQ(r.status, Status::pass) << family.name << " " << V << ": " << r.reason << " "
                                            << (first_failed(r) ? first_failed(r)->detail : "");
          passed += r.status == Status::pass;
        }
    }
  EXPECT_GT(passed, 500);
}

TEST_P(BackwardTypes, TheReferenceVariantPassesOnEveryFamily) {
  for (const char* backend : {"host", "host_fma"}) {
    const Variant* v = find_variant(std::string("backward_block/") + name(GetParam()) + "@" + backend);
    ASSERT_NE(v, nullptr);
    for (const Family& family : families())
      for (const std::int64_t V : {0, 1, 31, 257, 2050}) {
        if (!applies(family, GetParam(), V)) continue;
        const Record r = judged(*v, family.name, V);
        EXPECT_EQ(r.status, Status::pass) << family.name << " " << V << ": " << r.reason << " "
                                          << (first_failed(r) ? first_failed(r)->detail : "");
      }
  }
}

struct Fault {
  const char* name;
  GradientRows f;
  const char* says;
  bool neighbour = false;
};
void PrintTo(const Fault& f, std::ostream* os) { *os << f.name; }

const Fault kFaults[] = {
    {"SumLacksTheLast",
     [](const auto& y, const auto& dy, auto& dx) {
       const float s = sum_of(y, dy, y.size() - 1);
       for (std::size_t j = 0; j < y.size(); ++j) dx[j] = y[j] * (dy[j] - s);
     },
     "the sum lacks the last column"},
    {"SignOfTheSum",
     [](const auto& y, const auto& dy, auto& dx) {
       const float s = sum_of(y, dy, y.size());
       for (std::size_t j = 0; j < y.size(); ++j) dx[j] = y[j] * (dy[j] + s);
     },
     "the sum has the wrong sign"},
    {"SumOfTheNextRow", {}, "it is the sum of row", true},
    {"Swapped",
     [](const auto& y, const auto& dy, auto& dx) {
       const float s = sum_of(y, dy, y.size());
       for (std::size_t j = 0; j < y.size(); ++j) dx[j] = dy[j] * (y[j] - s);
     },
     "y and dy are swapped"},
    {"NoSum",
     [](const auto& y, const auto& dy, auto& dx) {
       for (std::size_t j = 0; j < y.size(); ++j) dx[j] = y[j] * dy[j];
     },
     "no sum was subtracted"},
    {"OneElement",
     [](const auto& y, const auto& dy, auto& dx) {
       kForms[0](y, dy, dx);
       dx[5] *= 1 + 0x1p-5f;
     },
     "column 5"},
};

class BackwardFaults : public testing::TestWithParam<Fault> {};
INSTANTIATE_TEST_SUITE_P(, BackwardFaults, testing::ValuesIn(kFaults),
                         [](const auto& i) { return std::string(i.param.name); });

TEST_P(BackwardFaults, AreRefusedByName) {
  const Fault& fault = GetParam();
  for (const Dtype t : {Dtype::f16, Dtype::bf16, Dtype::f32})
    for (const bool undeclared : {false, true}) {
      Variant v = kernel(t, fault.f, fault.neighbour);
      if (undeclared) v.claim = undeclared_claim(v.op);
      const Record r = judged(v, "normal_1", 37, 6);
      ASSERT_EQ(r.status, Status::fail) << name(t) << ": " << r.reason;
      std::string said;
      for (const CheckResult& c : r.checks) said += c.failed > 0 ? c.detail + "\n" : "";
      EXPECT_NE(said.find(fault.says), std::string::npos) << name(t) << ": " << said;
    }
}

/// The bound of a serial sum over many columns hides a wrong element. The check that all elements share one
/// sum shows it.
TEST(BackwardCoherence, SeesOneWrongElementUnderAWeakBound) {
  Variant v = kernel(Dtype::f32, [](const auto& y, const auto& dy, auto& dx) {
    kForms[0](y, dy, dx);
    dx[7] = y[7] * (dx[7] / y[7] + 0x1p-16f);
  });
  v.claim.height = [](std::int64_t V) { return V; };
  const Record r = judged(v, "constant", 20000, 1);
  EXPECT_EQ(r.status, Status::fail) << r.reason;
  const CheckResult* const element = find_check(r, Check::element);
  const CheckResult* const coherence = find_check(r, Check::coherence);
  ASSERT_NE(coherence, nullptr);
  EXPECT_EQ(element->failed, 0) << element->detail;
  EXPECT_GT(coherence->failed, 0);
  EXPECT_NE(coherence->detail.find("column 7 "), std::string::npos) << coherence->detail;
}

TEST(BackwardSpecial, ANaNSpreadsOverItsRowAndNoFurther) {
  const GradientRows drops = [](const auto& y, const auto& dy, auto& dx) {
    kForms[0](y, dy, dx);
    for (float& x : dx)
      if (std::isnan(x)) x = 0;
  };
  EXPECT_EQ(judged(kernel(Dtype::f32, kForms[0]), "nan", 33).status, Status::pass);
  const Record r = judged(kernel(Dtype::f32, drops), "nan", 33);
  EXPECT_EQ(r.status, Status::fail);
  EXPECT_NE(r.reason.find("special"), std::string::npos) << r.reason;
}

/// Gradients that a kernel overwrites, and gaps that it reads.
TEST(BackwardBuffers, GradientsAreGuardedAndLeftAlone) {
  Variant v = kernel(Dtype::f32, kForms[0]);
  v.run = [run = v.run](const Problem& p, const Buffers& b, const Stream& s) {
    run(p, b, s);
    if (p.rows * p.V > 0) static_cast<float*>(const_cast<void*>(b.gradients))[0] += 1;
  };
  Record r = judged(v, "normal_1", 33);
  EXPECT_EQ(r.status, Status::fail);
  ASSERT_NE(find_check(r, Check::inputs), nullptr);
  EXPECT_NE(find_check(r, Check::inputs)->detail.find("gradients"), std::string::npos);
  Variant past = kernel(Dtype::f32, kForms[0]);
  past.run = [run = past.run](const Problem& p, const Buffers& b, const Stream& s) {
    run(p, b, s);
    static_cast<float*>(const_cast<void*>(b.gradients))[p.rows * p.in_pitch] = 1;
  };
  r = judged(past, "normal_1", 33);
  ASSERT_EQ(r.status, Status::fail);
  EXPECT_NE(find_check(r, Check::guard)->detail.find("gradients"), std::string::npos);
}

}  // namespace
}  // namespace assay
