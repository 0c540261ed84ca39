// SPDX-License-Identifier: Apache-2.0
// The outcomes of a candidate's launches: a crash, a hang and a late write have their own verdicts, limits
// are no failures, and every record says how to repeat it.
#include "kernels/candidate.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/strangers_test.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

using namespace strangers;

/// Launches in this process, and reports that launch number `which` (from 1) ended differently.
class Pretending final : public HereLauncher {
 public:
  Pretending(int which, LaunchOutcome outcome) : which_(which), outcome_(std::move(outcome)) {}

  LaunchOutcome launch(const Variant& v, const Problem& p, Images& images, const LaunchOptions&) override {
    ++launches;
    if (launches == which_ && !outcome_.ok()) return outcome_;
    const auto at = [](const Image& i) { return i.empty() ? nullptr : i.payload(); };
    v.run(p, Buffers{at(images.logits), at(images.probs), at(images.indices), nullptr, nullptr, nullptr}, {});
    return launches == which_ ? outcome_ : LaunchOutcome{};
  }

  int launches = 0;

 private:
  int which_;
  LaunchOutcome outcome_;
};

Variant ending(int which, LaunchOutcome outcome, const char* declaration = "") {
  Variant v = stranger(two_pass, declaration);
  v.launcher = std::make_shared<Pretending>(which, std::move(outcome));
  return v;
}
int launches(const Variant& v) { return static_cast<Pretending&>(*v.launcher).launches; }

Record judged(const Variant& v, std::int64_t V = 33, const CheckOptions& options = {}) {
  const Case c(*find_family("normal_1"), v.dtype, V, 3, 1);
  return check_case(v, c, v.op, 0, options);
}

const CheckResult* find(const Record& r, const char* name) {
  for (const CheckResult& c : r.checks)
    if (assay::name(c.check) == std::string_view(name)) return &c;
  return nullptr;
}

TEST(Candidate, ACrashAndAHangAreTheirOwnStatusWithTheFaultAsReason) {
  const Record crashed = judged(ending(1, {"signal 11 (SIGSEGV) at address 0x10", Ended::crashed}));
  EXPECT_EQ(crashed.status, Status::crashed);
  EXPECT_EQ(crashed.reason, "signal 11 (SIGSEGV) at address 0x10");
  const Record hung = judged(ending(1, {"no answer for 20 s", Ended::hung}));
  EXPECT_EQ(hung.status, Status::hung);
  EXPECT_EQ(hung.reason, "no answer for 20 s");
  EXPECT_EQ(find(hung, "launch")->failed, 1);
}

TEST(Candidate, ADeadWorkerIsNotAskedForTheSecondLaunch) {
  const Variant v = ending(1, {"no answer for 20 s", Ended::hung});
  judged(v);
  EXPECT_EQ(launches(v), 1);
}

TEST(Candidate, ACrashInTheSecondLaunchIsACrash) {
  const Record r = judged(ending(2, {"signal 6 (SIGABRT)", Ended::crashed}));
  EXPECT_EQ(r.status, Status::crashed);
  EXPECT_EQ(r.reason, "signal 6 (SIGABRT)");
  EXPECT_GT(find(r, "element")->judged, 0) << "the first launch is judged all the same";
}

TEST(Candidate, AFaultThatWasReportedIsAFailure) {
  const Record r = judged(ending(1, {"run returned 7", Ended::fault}));
  EXPECT_EQ(r.status, Status::fail);
  EXPECT_EQ(find(r, "launch")->detail, "run returned 7");
}

TEST(Candidate, ALateWriteFailsUnderItsName) {
  const Record right = judged(ending(0, {}));
  EXPECT_EQ(right.status, Status::pass) << right.reason;
  EXPECT_EQ(find(right, "late_write")->judged, 2);
  for (const int which : {1, 2}) {
    const Record r = judged(ending(which, {"", Ended::normally, "values changed after the launch was over"}));
    EXPECT_EQ(r.status, Status::fail);
    EXPECT_EQ(find(r, "late_write")->failed, 1);
    EXPECT_EQ(find(r, "late_write")->detail, "values changed after the launch was over");
  }
}

TEST(Candidate, OutsideItsLimitsNothingIsAFailure) {
  for (const auto& [declared, words] :
       {std::pair{"max_V=32", "V = 33 exceeds max_V = 32"}, std::pair{"V_multiple=8", "not a multiple of 8"},
        std::pair{"dense=yes alignment=16", "multiples of 16 bytes"}}) {
    const Record r = judged(ending(1, {"signal 11", Ended::crashed}, declared));
    EXPECT_EQ(r.status, Status::unsupported) << declared;
    EXPECT_TRUE(r.reason.starts_with("domain: ")) << r.reason;
    EXPECT_NE(r.reason.find(words), std::string::npos) << r.reason;
  }
  // The outputs are recorded if the launch returned.
  Variant v = ending(0, {}, "max_V=32");
  v.variant = "survivor";
  EXPECT_EQ(judged(v).returned, "row 0: between x33");
}

TEST(Candidate, ACandidateThatDiedOutsideItsLimitsIsNotAskedAgain) {
  Variant v = ending(1, {"no answer for 20 s", Ended::hung}, "max_V=32");
  v.variant = "victim";
  EXPECT_EQ(judged(v).returned, "no answer for 20 s");
  EXPECT_EQ(judged(v, 64).status, Status::unsupported);
  EXPECT_EQ(launches(v), 1);
}

/// Layouts obey the limits: rows that must be aligned get gaps, dense rows none; the kernel checks it.
TEST(Candidate, LaunchesKeepToItsLimits) {
  static std::int64_t misaligned, apart;
  for (const char* declared : {"alignment=16", "alignment=64; V_multiple=4", "dense=yes"}) {
    misaligned = apart = 0;
    Variant v = stranger(two_pass, declared);
    const auto run = v.run;
    const std::int64_t alignment = std::max<std::int64_t>(1, v.limits.alignment);
    v.run = [=](const Problem& p, const Buffers& b, const Stream& s) {
      for (std::int64_t r = 0; r < p.rows; ++r)
        for (const void* base : {b.logits, static_cast<const void*>(b.probs)})
          misaligned += (reinterpret_cast<std::uintptr_t>(base) +
                         static_cast<std::uintptr_t>(r * (base == b.logits ? p.in_pitch : p.out_pitch) * 4)) %
                            static_cast<std::uintptr_t>(alignment) !=
                        0;
      apart += p.in_pitch != p.V || p.out_pitch != p.V;
      run(p, b, s);
    };
    for (const std::int64_t V : {4, 32, 100, 1000}) EXPECT_EQ(judged(v, V).status, Status::pass) << declared;
    EXPECT_EQ(misaligned, 0) << declared;
    EXPECT_EQ(apart == 0, v.limits.dense) << declared;
  }
}

TEST(Candidate, FiniteOnlyKernelsAreNotJudgedOnOtherRows) {
  const Variant v = stranger(zeros, "finite=yes");
  for (const char* family : {"inf_warp", "all_neg_inf", "nan", "pos_inf"}) {
    const Record r = check_case(v, Case(*find_family(family), Dtype::f32, 129, 3, 1), v.op, 0);
    EXPECT_EQ(r.status, Status::unsupported) << family;
    EXPECT_NE(r.reason.find("not finite"), std::string::npos) << r.reason;
  }
  EXPECT_EQ(judged(v).status, Status::fail);
}

TEST(Candidate, F64LogitsAreUnsupportedByName) {
  const Variant v = stranger(two_pass, "", Dtype::f64, Dtype::f64);
  const Record r = check_case(v, Case("f64", Tensor(Dtype::f64, 1, 4)), v.op, 0);
  EXPECT_EQ(r.status, Status::unsupported);
  EXPECT_TRUE(r.reason.starts_with("dtype: f64")) << r.reason;
}

TEST(Candidate, APromiseOfUlpsIsItsOwnCheck) {
  const Variant v = stranger(two_pass);
  const Record loose = judged(v, 1000, {.max_ulp = 100});
  EXPECT_EQ(loose.status, Status::pass) << loose.reason;
  EXPECT_EQ(find(loose, "max_ulp")->judged, 3000);
  const Record sharp = judged(v, 1000, {.max_ulp = 0.5});
  EXPECT_EQ(sharp.status, Status::fail);
  EXPECT_EQ(sharp.reason, "failed: max_ulp");
  EXPECT_EQ(find(judged(v), "max_ulp"), nullptr);
  // The promise is about the largest error.
  EXPECT_EQ(judged(v, 1000, {.max_ulp = *loose.max_ulp}).status, Status::pass);
  EXPECT_EQ(judged(v, 1000, {.max_ulp = *loose.max_ulp * 0.999}).status, Status::fail);
}

TEST(Candidate, RecordsSayHowToRepeatThem) {
  Variant v = stranger(two_pass);
  v.origin = "my.cu --entry 'void f(const float* x)'";
  EXPECT_EQ(judged(v).reproduce,
            "assay check my.cu --entry 'void f(const float* x)' --family normal_1 --V 33 --rows 3 --seed 1");
  v.origin = "libtheirs.so#theirs";
  EXPECT_TRUE(judged(v).reproduce.starts_with("assay check libtheirs.so#theirs --family "));
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("a/b-c_1.so#x"), "a/b-c_1.so#x");
}

TEST(Candidate, AKernelWithoutANormalizerGetsNone) {
  Variant v = stranger(two_pass);
  static bool given;
  given = false;
  const auto run = v.run;
  v.run = [run](const Problem& p, const Buffers& b, const Stream& s) {
    given = given || b.m || b.d;
    run(p, b, s);
  };
  EXPECT_EQ(find(judged(v), "normalizer"), nullptr);
  EXPECT_FALSE(given);
  EXPECT_EQ(check_case(v, Case(*find_family("normal_1"), Dtype::f32, 33, 1, 1), Op::normalizer, 0).status,
            Status::unsupported);
}

TEST(Candidate, AWorkerThatDiesInAProbeIsACrash) {
  const Variant v = ending(3, {"signal 11 (SIGSEGV)", Ended::crashed});
  const Record r = probe_record(v, behaviour_of(v));
  EXPECT_EQ(r.status, Status::crashed);
  EXPECT_EQ(r.reason, "signal 11 (SIGSEGV)");
}

/// The probes work without (m, d) and obey the limits.
TEST(Candidate, StrangersAreProbedToo) {
  const Behaviour serial = behaviour_of(stranger(two_pass));
  EXPECT_TRUE(serial.fault.empty()) << serial.fault;
  EXPECT_EQ(serial.claim.failed, 0) << serial.claim.detail;
  EXPECT_NE(serial.like.find("serial sum"), std::string::npos) << serial.like;
  EXPECT_NE(serial.like.find("sum f32"), std::string::npos) << serial.like;
  EXPECT_NE(serial.like.find("exp accurate"), std::string::npos) << serial.like;
  EXPECT_NE(serial.like.find("division ieee"), std::string::npos) << serial.like;
  const Behaviour half = behaviour_of(stranger(narrow_sum<to_f16>));
  EXPECT_GT(half.claim.failed, 0);
  EXPECT_NE(half.like.find("sum f16"), std::string::npos) << half.like;
  for (const char* limits : {"max_V=40", "V_multiple=256", "finite=yes", "alignment=32; dense=yes"}) {
    const Behaviour b = behaviour_of(stranger(two_pass, limits));
    EXPECT_TRUE(b.fault.empty()) << b.fault;
    EXPECT_EQ(b.claim.failed, 0) << b.claim.detail;
  }
  for (const RowKernel kernel : {tree, online, kept, reciprocal, in_double, lanes}) {
    const Behaviour b = behaviour_of(stranger(kernel));
    EXPECT_EQ(b.claim.failed, 0) << b.like << ": " << b.claim.detail;
  }
}

template <bool (*left_out)(std::int64_t i, std::int64_t V)>
void without_terms(const float* x, float* p, std::int64_t V) {
  const float m = max_of(x, V);
  float d = 0;
  for (std::int64_t i = 0; i < V; ++i) {
    p[i] = std::exp(x[i] - m);
    if (!left_out(i, V)) d += p[i];
  }
  for (std::int64_t i = 0; i < V; ++i) p[i] /= d;
}
bool tail_of_257(std::int64_t i, std::int64_t V) { return V % 256 == 1 && i > 0 && i + 1 == V; }
bool beyond_2048(std::int64_t i, std::int64_t) { return i >= 2048; }

/// A sum that drops a term of 257 or 2049 equal logits looks like one in bf16 or f16, and is none.
TEST(Candidate, ASumWithoutATermIsNotANarrowSum) {
  for (const RowKernel kernel : {without_terms<tail_of_257>, without_terms<beyond_2048>})
    for (const Dtype t : {Dtype::f32, Dtype::f16}) {
      const Behaviour b = behaviour_of(stranger(kernel, "", t, t));
      EXPECT_EQ(b.like.find("sum f16"), std::string::npos) << name(t) << " " << b.like;
      EXPECT_EQ(b.like.find("sum bf16"), std::string::npos) << name(t) << " " << b.like;
      EXPECT_GT(b.claim.failed, 0) << b.like;
    }
  for (const char* limits : {"", "max_abs=100", "max_rows=4"})
    for (const Dtype t : {Dtype::f32, Dtype::f16}) {
      const Behaviour narrow = behaviour_of(stranger(narrow_sum<to_f16>, limits, t, t));
      EXPECT_NE(narrow.like.find("sum f16"), std::string::npos) << name(t) << limits << ": " << narrow.like;
    }
}

// A key that runs in a worker process is judged exactly like one that runs in this process.

TEST(Isolation, RecordsAreThoseOfTheSameKeyInProcess) {
  for (const char* key : {"online_block/f32@host", "safe_block_half/f16@host", "safe_topk_block/bf16@host",
                          "lse_block/f32@host"}) {
    const Variant* here = find_variant(key);
    ASSERT_NE(here, nullptr) << key;
    const Variant there = isolated(*here);
    for (const char* family : {"normal_1", "ramp_1ulp", "inf_warp", "all_neg_inf"}) {
      const Case c(*find_family(family), here->dtype, 129, 3, 7);
      const int k = here->max_k > 0 ? 5 : 0;
      const nlohmann::json inside = to_json(check_case(*here, c, here->op, k));
      nlohmann::json outside = to_json(check_case(there, c, there.op, k));
      // Only a launcher sees late writes; this is the only check that is judged nowhere else.
      EXPECT_EQ(outside["checks"]["late_write"]["failed"], 0) << key << " on " << family;
      outside["checks"].erase("late_write");
      EXPECT_EQ(inside.count("where") + 1, outside.count("where"));
      outside.erase("where");
      EXPECT_TRUE(inside == outside) << key << " on " << family << ": "
                                     << nlohmann::json::diff(inside, outside);
    }
  }
}

TEST(Isolation, EveryBitIsTheSame) {
  const Variant& here = *find_variant("online_topk_block/f32@host");
  const Variant there = isolated(here);
  const Case c(*find_family("normal_10"), Dtype::f32, 4099, 3, 11);
  for (const bool page_end : {false, true})
    for (const Layout& layout : {plain_layout(), hostile_layout()}) {
      Layout l = layout;
      GuardedLaunch a(here, problem_of(here, here.op, 3, 4099, 8, 4099), c.logits(), l);
      l.launch.page_end = page_end;
      GuardedLaunch b(there, problem_of(here, here.op, 3, 4099, 8, 4099), c.logits(), l);
      ASSERT_TRUE(a.run().ok());
      const LaunchOutcome outcome = b.run();
      ASSERT_TRUE(outcome.ok()) << outcome.fault;
      EXPECT_EQ(outcome.late_write, "");
      for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t j = 0; j < 8; ++j) {
          EXPECT_EQ(a.value_bits(r, j), b.value_bits(r, j));
          EXPECT_EQ(a.index(r, j), b.index(r, j));
        }
      Tally tally;
      b.inspect(tally);
      EXPECT_EQ(tally.failed(), 0);
    }
}

/// Not a limit, because machines differ. The number is for readers of the log.
TEST(Isolation, ALaunchCostsMicroseconds) {
  const Variant& here = *find_variant("online_thread/f32@host");
  const Variant there = isolated(here);
  const Case c(*find_family("normal_1"), Dtype::f32, 33, 1, 1);
  const Problem p = problem_of(here, here.op, 1, 33, 0, 33);
  const auto microseconds = [&](const Variant& v) {
    GuardedLaunch launch(v, p, c.logits(), plain_layout());
    launch.run();
    constexpr int n = 2000;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) EXPECT_TRUE(launch.run().ok());
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / n;
  };
  const double inside = microseconds(here), outside = microseconds(there);
  std::printf("one row of 33: %.1f us in process, %.1f us in a worker\n", inside, outside);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    GuardedLaunch launch(there, p, c.logits(), plain_layout());
    there.launcher->restart();
    EXPECT_TRUE(launch.run().ok());
  }
  std::printf(
      "a fresh worker: %.1f ms\n",
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / 10);
}

}  // namespace
}  // namespace assay
