// SPDX-License-Identifier: Apache-2.0
// The sweep of functions: its judge against MPFR, what it says about this machine's functions and the
// published device's, and the faults that it must name.
#include "accuracy/functions/function_sweep.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "accuracy/functions/function_result.hpp"
#include "accuracy/functions/result_fields.hpp"

namespace assay {
namespace {

using functions::Evaluate;
using functions::Exact;
using functions::Function;
using functions::Judged;
using functions::Rules;
using functions::Sample;
using functions::Truth;

constexpr std::int64_t kStride = 4999;

const Function& host_function(const char* id) {
  for (const Function& f : functions::functions())
    if (f.id() == id) return f;
  throw std::logic_error(id);
}

template <Truth truth>
Judged judge(const Rules& r, const Sample& x) {
  return functions::judge_value(r, x.got, functions::exact_value<truth>(x.a, x.b));
}
Judged judge(const Rules& r, const Sample& x) {
  switch (r.truth) {
    case Truth::exp:
      return judge<Truth::exp>(r, x);
    case Truth::exp2:
      return judge<Truth::exp2>(r, x);
    case Truth::log:
      return judge<Truth::log>(r, x);
    case Truth::divide:
      return judge<Truth::divide>(r, x);
  }
  return {};
}
bool is_special(const Rules& r, const Sample& x) {
  double value;
  switch (r.truth) {
    case Truth::exp:
      return functions::special_value<Truth::exp>(x.a, x.b, value);
    case Truth::exp2:
      return functions::special_value<Truth::exp2>(x.a, x.b, value);
    case Truth::log:
      return functions::special_value<Truth::log>(x.a, x.b, value);
    case Truth::divide:
      return functions::special_value<Truth::divide>(x.a, x.b, value);
  }
  return false;
}

// The enclosure and everything derived from it, compared with MPFR, at right and at wrong results.
TEST(FunctionJudge, AgreesWithMpfr) {
  std::int64_t compared = 0, undecided = 0;
  for (const char* id : {"expf/f32@host", "exp2f/f32@host", "logf/f32@host", "1/x/f32@host", "x/y/f32@host",
                         "hexp/f16@host", "hexp2/bf16@host", "__hdiv/f16@host", "__hdiv/bf16@host"}) {
    const Function& f = host_function(id);
    const Rules r = functions::rules_of(f);
    const std::int64_t places = functions::places_of(r);
    for (std::int64_t i = 0; i < 4000; ++i) {
      // Half of the places are around 0 and 1, where units change.
      const std::int64_t place =
          i % 2 ? places / 4000 * i + i : (places * (i % 4 ? 3 : 1) / 4 + i * 37) % places;
      std::uint32_t a[1], b[1], got[1];
      const functions::Arguments x = functions::arguments_of(r, place);
      a[0] = x.a, b[0] = x.b, got[0] = 0;  // a 16-bit pattern is the low half
      f.evaluate(a, b, got, 1, nullptr);
      for (int off : {0, 1, -3}) {
        const auto bits = static_cast<std::uint32_t>(got[0] + static_cast<std::uint32_t>(off)) &
                          (r.bits == 32 ? ~0u : 0xffffu);
        const Sample s = functions::sample_at(r, place, bits);
        if (is_special(r, s)) continue;
        const Judged fast = judge(r, s), exact = functions::decide_by_mpfr(r, s);
        ASSERT_TRUE(exact.decided) << id << " " << s.a << " " << s.b;
        ++compared;
        if (!fast.decided) {
          ++undecided;
          continue;
        }
        ASSERT_EQ(fast.correct, exact.correct)
            << id << std::hexfloat << " " << s.a << " " << s.b << " " << s.got;
        ASSERT_EQ(fast.unit, exact.unit) << id << std::hexfloat << " " << s.a << " " << s.b;
        if (std::isnan(s.got)) {
          ASSERT_TRUE(std::isinf(exact.error) && std::isinf(fast.error));
          continue;
        }
        if (!(exact.size < 0x1p100)) continue;  // far beyond the overflow: fp64 has overflowed too
        // Never below the exact error, and above it only by the width of the enclosure (2^-800: results that
        // vanish).
        const double width = exact.size * 0x1p-48 + exact.error * 0x1p-40 + 0x1p-800;
        ASSERT_GE(fast.error, exact.error * (1 - 0x1p-40))
            << id << std::hexfloat << " " << s.a << " " << s.got;
        ASSERT_LE(fast.error, exact.error + width)
            << id << std::hexfloat << " " << s.a << " " << s.b << " " << s.got;
        ASSERT_NEAR(fast.signed_error, exact.signed_error, width);
      }
    }
  }
  EXPECT_GT(compared, 60000);
  EXPECT_LT(undecided, compared / 1000);
}

TEST(FunctionSweep, HostFunctionsStayWithinWhatIsDeclared) {
  int ran = 0;
  for (const Function& f : functions::functions()) {
    if (f.backend != Backend::host) continue;
    if (!f.missing.empty()) {
      EXPECT_TRUE(f.missing.find("CPU") != std::string::npos || f.missing.find("SLEEF") != std::string::npos);
      continue;
    }
    const FunctionResult r = measure(f, {kStride, 1});
    EXPECT_EQ(r.status, Status::pass) << r.id() << ": " << r.reason;
    EXPECT_EQ(r.undecided, 0);
    EXPECT_GT(r.judged, f.dtype == Dtype::f32 ? 50000 : 20000) << r.id();
    ++ran;
  }
  EXPECT_GE(ran, 13);
}

// The published exhaustive table of the device: what the bounds use must agree with what was measured.
TEST(FunctionSweep, PublishedMaximaStayWithinWhatIsDeclared) {
  const std::filesystem::path file =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "reports/published/h200/functions.json";
  if (!std::filesystem::exists(std::filesystem::path(ASSAY_SOURCE_DIR) / "README.md"))
    GTEST_SKIP() << "no source tree beside this binary";
  const nlohmann::json j = nlohmann::json::parse(std::ifstream(file));
  int judged = 0;
  for (const nlohmann::json& row : j.at("functions")) {
    const FunctionResult r = fields_from_json<FunctionResult>(row);
    const DeclaredError* d = find_declared(r);
    ASSERT_NE(d, nullptr) << r.id() << " is published, and nothing is declared of it";
    if (r.status == Status::not_run) continue;
    EXPECT_EQ(r.stride, 1) << r.id() << " is a sample";
    for (const std::string& c : contradictions(*d, r)) ADD_FAILURE() << r.id() << ": " << c;
    ++judged;
  }
  EXPECT_GE(judged, 24);
}

TEST(FunctionSweep, ATooSmallDeclarationIsCaught) {
  const FunctionResult r = measure(host_function("Sleef_expf8_u10/f32@host").missing.empty()
                                       ? host_function("Sleef_expf8_u10/f32@host")
                                       : host_function("Eigen exp/f32@host"),
                                   {kStride, 1});
  ASSERT_EQ(r.status, Status::pass);
  DeclaredError d = *find_declared(r);
  d.k = 0;  // correctly rounded, which it is not
  const std::vector<std::string> against = contradictions(d, r);
  ASSERT_FALSE(against.empty());
  EXPECT_NE(against[0].find("ulp error"), std::string::npos) << against[0];

  FunctionResult nan = r;
  nan.ulp.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(contradictions(*find_declared(r), nan).empty()) << "NaN is not within a limit";
  FunctionResult none = r;
  none.judged = 0;
  EXPECT_FALSE(contradictions(*find_declared(r), none).empty()) << "nothing judged is no pass";
}

// ---- planted faults: expf of the host with one defect each ----

template <class F>
void planted(const void* a, void* out, std::int64_t n, F fault) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float x = static_cast<const float*>(a)[i];
    static_cast<float*>(out)[i] = fault(x, std::exp(x));
  }
}
FunctionResult measure_planted(Evaluate evaluate) {
  Function f = host_function("expf/f32@host");
  f.evaluate = evaluate;
  return measure(f, {kStride, 1});
}
#define EXPECT_FAULT(r, words)         \
  EXPECT_EQ((r).status, Status::fail); \
  EXPECT_NE((r).reason.find(words), std::string::npos) << (r).reason

TEST(FunctionSweep, NamesThreeUlpInOneBinade) {
  const FunctionResult r = measure_planted([](const void* a, const void*, void* out, std::int64_t n, void*) {
    planted(a, out, n, [](float x, float y) {
      return x > -4 && x < -2 ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(y) + 3) : y;
    });
  });
  EXPECT_FAULT(r, "ulp error");
  EXPECT_GT(r.ulp.value, 2.5);
  EXPECT_LT(r.ulp.value, 3.6);
}

TEST(FunctionSweep, NamesAStepDown) {
  const FunctionResult r = measure_planted([](const void* a, const void*, void* out, std::int64_t n, void*) {
    planted(a, out, n,
            [](float x, float y) { return x > -3 ? std::nextafterf(y, 0.0f) : std::nextafterf(y, 1.0f); });
  });
  EXPECT_EQ(r.descent.count, 0);  // the step is too small to show between neighbours a stride apart
  Function f = host_function("1/x/f32@host");
  f.evaluate = [](const void*, const void* b, void* out, std::int64_t n, void*) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float x = static_cast<const float*>(b)[i];
      static_cast<float*>(out)[i] = x > 3 && x < 3.1f ? 0.34f : 1 / x;
    }
  };
  const FunctionResult step = measure(f, {kStride, 1});
  EXPECT_FAULT(step, "not monotone");
  // Every argument of a 16-bit format; two neighbouring results are exchanged.
  Function h = host_function("hexp/f16@host");
  static Evaluate right;
  right = h.evaluate;
  h.evaluate = [](const void* a, const void* b, void* out, std::int64_t n, void* stream) {
    right(a, b, out, n, stream);
    for (std::int64_t i = 0; i < n; ++i)
      if (static_cast<const std::uint16_t*>(a)[i] == 0xc000) ++static_cast<std::uint16_t*>(out)[i];
  };
  const FunctionResult swapped = measure(h, {1, 1});
  EXPECT_FAULT(swapped, "ulp error");
  EXPECT_EQ(swapped.correct, swapped.judged - 1);
}

TEST(FunctionSweep, NamesABrokenPremise) {
  EXPECT_FAULT(measure_planted([](const void* a, const void*, void* out, std::int64_t n, void*) {
                 planted(a, out, n, [](float x, float y) { return x == 0 ? 0x1.fffffep-1f : y; });
               }),
               "exp(0) is not 1");
  EXPECT_FAULT(measure_planted([](const void* a, const void*, void* out, std::int64_t n, void*) {
                 planted(a, out, n, [](float x, float y) { return x < 0 && y == 1 ? 0x1.000002p0f : y; });
               }),
               "not in [0, 1]");
  EXPECT_FAULT(measure_planted([](const void* a, const void*, void* out, std::int64_t n, void*) {
                 planted(a, out, n, [](float x, float y) { return y == 0 ? std::copysign(y, x) : y; });
               }),
               "not in [0, 1]");
  EXPECT_FAULT(measure_planted([](const void* a, const void*, void* out, std::int64_t n, void*) {
                 planted(a, out, n, [](float x, float y) { return std::isinf(x) && x > 0 ? 1.0f : y; });
               }),
               "special argument");
  EXPECT_FAULT(measure_planted([](const void* a, const void*, void* out, std::int64_t n, void*) {
                 planted(a, out, n, [](float x, float y) { return x > 4 && x < 5 ? NAN : y; });
               }),
               "NaN where");
  // Flushed subnormal results are off by up to 2^23 smallest subnormals.
  EXPECT_FAULT(measure_planted([](const void* a, const void*, void* out, std::int64_t n, void*) {
                 planted(a, out, n, [](float, float y) { return y < 0x1p-126f ? 0.0f : y; });
               }),
               "subnormal result");
}

TEST(FunctionSweep, ResultsSurviveJson) {
  FunctionResult r = measure(host_function("hexp/f16@host"), {1, 1});
  r.descent = {3, "0x1p+0", "0x1.8p+1"};
  r.ulp.value = std::numeric_limits<double>::infinity();
  r.slope.value = NAN;  // as if there had been nothing to measure
  r.mean_signed = -std::numeric_limits<double>::infinity();
  r.seconds = NAN;
  const nlohmann::json j = fields_to_json(r);
  EXPECT_EQ(j, fields_to_json(fields_from_json<FunctionResult>(nlohmann::json::parse(j.dump()))));
  EXPECT_EQ(j.at("max_ulp").at("value"), "inf");
  EXPECT_TRUE(j.at("slope").is_null());
  EXPECT_EQ(j.at("mean_signed_ulp"), "-inf");
  EXPECT_EQ(j.at("seconds"), "nan");
}

TEST(FunctionSweep, TheGridIsSortedAndHoldsTheEdges) {
  const std::vector<float>& v = functions::grid_values();
  EXPECT_EQ(v.size(), std::size_t{1} << 14);  // 2^28 pairs
  std::int64_t subnormal = 0, beyond = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (i > 0 && !std::isnan(v[i])) {
      ASSERT_LE(v[i - 1], v[i]);
    }
    subnormal += v[i] != 0 && std::fabs(v[i]) < 0x1p-126f;
    beyond += std::fabs(v[i]) > 0x1p126f && std::isfinite(v[i]);
  }
  EXPECT_GE(subnormal, 100);
  EXPECT_GE(beyond, 60);
  EXPECT_TRUE(std::isnan(v.back()));
  EXPECT_TRUE(std::isinf(v.front()));
}

TEST(FunctionSweep, RepeatsOnAnyNumberOfThreads) {
  const Function& f = host_function("expf/f32@host");
  FunctionResult one = measure(f, {997, 1}), three = measure(f, {997, 3});
  one.seconds = three.seconds = 0;
  EXPECT_EQ(fields_to_json(one), fields_to_json(three));
}

TEST(FunctionTable, HasARowForEveryFunctionAndFindsIt) {
  for (const Function& f : functions::functions()) EXPECT_NO_THROW(f.declared()) << f.id();
  EXPECT_EQ(&declared_error("expf", Dtype::f32, Backend::host_fma),
            &declared_error("expf", Dtype::f32, Backend::host));
  EXPECT_THROW(declared_error("expf", Dtype::f16, Backend::cuda), std::logic_error);
}

}  // namespace
}  // namespace assay
