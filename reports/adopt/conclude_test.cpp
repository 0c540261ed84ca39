// SPDX-License-Identifier: Apache-2.0
// From steps to the verdict of a certificate, and what a certificate is as a text.
#include "reports/adopt/conclude.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reports/adopt/certificate_page.hpp"
#include "reports/adopt/functions_used.hpp"
#include "reports/adopt/replay.hpp"

namespace assay {
namespace {

CertifiedStep step_of(const char* name, Status state, std::int64_t executed = 10) {
  return {.name = name, .state = state, .words = "words", .planned = 10, .executed = executed};
}

/// A certificate of a kernel of which every step passed.
Certificate right_certificate() {
  Certificate c;
  c.steps = {step_of("check", Status::pass), step_of("fuzz", Status::pass),
             step_of("functions", Status::pass), step_of("sweep", Status::pass)};
  CertifiedKernel k;
  k.key = "a/f32@host";
  k.passed = 10;
  k.max_ulp = 1.25;
  c.kernels = {k};
  CertifiedCase& one = c.cases.emplace_back();
  one.worst = true;
  one.key = k.key;
  one.status = Status::pass;
  one.max_ulp = 1.25;
  return c;
}

TEST(Certificate, PassesOnlyIfEveryStepThatRanPassed) {
  Certificate c = right_certificate();
  conclude(c, false);
  EXPECT_EQ(c.verdict, Verdict::pass);
  EXPECT_EQ(c.exit_status, 0);
  for (std::size_t i = 0; i < 4; ++i) {
    for (const auto& [state, verdict, status] :
         {std::tuple(Status::fail, Verdict::fail, 1),
          std::tuple(Status::inconclusive, Verdict::inconclusive, 1)}) {
      c = right_certificate();
      c.steps[i].state = state;
      conclude(c, true);
      EXPECT_EQ(c.verdict, verdict) << i;
      EXPECT_EQ(c.exit_status, status) << i;
      EXPECT_TRUE(c.reason.starts_with(c.steps[i].name)) << c.reason;
    }
  }
}

TEST(Certificate, ASpeedThatTheMachineCannotReachIsNoPass) {
  Certificate c = right_certificate();
  c.kernels.at(0).op = "softmax";
  c.speed = {{{.rows = 4000, .V = 129024}, c.kernels.at(0).key, Status::pass, 4.1, 1e6, 1.019, 1.02}};
  EXPECT_EQ(impossible_figure(c), "");
  conclude(c, false);
  EXPECT_EQ(c.verdict, Verdict::pass);
  // By what is newer, or by the copy's share alone, as an older certificate has it.
  for (const auto& [copy, fastest] : {std::pair<double, std::optional<double>>{228, 228.0}, {228, {}}}) {
    c = right_certificate();
    c.kernels.at(0).op = "softmax";
    c.speed = {{{.rows = 4000, .V = 129024}, c.kernels.at(0).key, Status::pass, 4.1, 1e6, copy, fastest}};
    conclude(c, true);
    EXPECT_EQ(c.verdict, Verdict::fail);
    EXPECT_EQ(c.exit_status, 1);
    EXPECT_NE(c.reason.find("4,000 rows, V = 129,024: its speed is 228 times"), std::string::npos)
        << c.reason;
  }
  // A kernel that writes one value a row is faster than a copy of as many bytes.
  c = right_certificate();
  c.kernels.at(0).op = "lse";
  c.speed = {{{.rows = 4000, .V = 129024}, c.kernels.at(0).key, Status::pass, 4.1, 1e6, 1.3, 0.97}};
  EXPECT_EQ(impossible_figure(c), "");
}

/// Limits that only the kernel's own file declares are no contract that somebody asked for; what was asked
/// for and is not taken is no PASS, whatever is accepted.
TEST(Certificate, APassSaysForWhichInputs) {
  Certificate c = right_certificate();
  CertifiedKernel& k = c.kernels[0];
  k.within = "rows >= 1, at most 1; V one of 2", k.own_limits = "V_in={2}; max_rows=1";
  k.planned = k.passed, k.rows_judged = 300;
  conclude(c, false);
  EXPECT_EQ(c.verdict, Verdict::pass);
  EXPECT_EQ(c.exit_status, 4);
  EXPECT_EQ(badge_words(c), "PASS within rows >= 1, at most 1; V one of 2");
  EXPECT_NE(render_certificate_terminal(c).find("declared by its own file alone: V_in={2}; max_rows=1"),
            std::string::npos);
  EXPECT_NE(render_certificate_terminal(c).find("of rows like these at most 1.0e-02 are wrong"),
            std::string::npos);
  EXPECT_NE(render_certificate_page(c).find("of rows like these at most 1.0e-02 are wrong"),
            std::string::npos);
  conclude(c, true);
  EXPECT_EQ(c.exit_status, 0);

  k.core = 100, k.core_beyond = 51;
  conclude(c, false);
  EXPECT_EQ(c.verdict, Verdict::judged_in_part);
  EXPECT_EQ(c.exit_status, 4);

  k.required = "V=1..4096", k.uncovered = {"V = 1 is none of V_in"};
  conclude(c, true);
  EXPECT_EQ(c.verdict, Verdict::not_covered);
  EXPECT_EQ(c.exit_status, 1);
  EXPECT_EQ(c.reason, "it does not take all that is required: a/f32@host: V = 1 is none of V_in");
  EXPECT_EQ(badge_words(c), "NOT COVERED");

  c = right_certificate();
  c.kernels[0].required = "V=1..4096", c.kernels[0].within = kWithoutLimits;
  conclude(c, false);
  EXPECT_EQ(badge_words(c), "PASS for V=1..4096");
}

TEST(Certificate, AStepThatDidNotRunIsNamedAndIsNoPass) {
  Certificate c = right_certificate();
  c.steps[3] = step_of("sweep", Status::not_run, 0);
  conclude(c, false);
  EXPECT_EQ(c.verdict, Verdict::pass);
  EXPECT_EQ(c.not_proved.at(0), "sweep: no speed was measured: words");
  EXPECT_EQ(c.reason.find("sweep"), std::string::npos) << c.reason;
  c = right_certificate();
  c.steps[0].state = Status::not_run;
  conclude(c, false);
  EXPECT_EQ(c.verdict, Verdict::not_run);
  EXPECT_EQ(c.exit_status, 3);
}

TEST(Certificate, NothingThatRanIsNoPass) {
  Certificate c;
  conclude(c, true);
  EXPECT_EQ(c.verdict, Verdict::not_run);
  EXPECT_EQ(c.exit_status, 3);
  c = right_certificate();
  c.kernels[0].passed = 0;
  conclude(c, true);
  EXPECT_EQ(c.verdict, Verdict::not_run);
  c = right_certificate();
  c.steps[0].executed = 0;
  conclude(c, true);
  EXPECT_EQ(c.verdict, Verdict::not_run);
  EXPECT_EQ(check_step({}, 1).state, Status::fail) << "a check of no case fails";
}

TEST(Certificate, LimitsThatNobodyDeclaredAreAStatusOfTheirOwn) {
  Certificate c = right_certificate();
  c.kernels[0].undeclared = "V_multiple=32";
  conclude(c, false);
  EXPECT_EQ(c.verdict, Verdict::pass);
  EXPECT_EQ(c.exit_status, 4);
  conclude(c, true);
  EXPECT_EQ(c.exit_status, 0);
}

TEST(Certificate, IsReadAsItWasWritten) {
  Certificate c = right_certificate();
  c.kernels[0].max_bound_ratio = INFINITY;
  c.kernels[0].outside = {"\xff no UTF-8", "two\nlines"};
  c.target.args = {"N=rows", "block=256"};
  conclude(c, false);
  const std::string text = render_certificate(c);
  EXPECT_EQ(changed_since(text), "");
  const Certificate again = certificate_from_text(text, "c.json");
  EXPECT_EQ(render_certificate(again), text);
  EXPECT_EQ(again.kernels[0].max_bound_ratio, INFINITY);
  EXPECT_EQ(again.target.args, c.target.args);
  // Every byte counts.
  EXPECT_NE(changed_since(text + "\n").find("other bytes for the same members"), std::string::npos);
  nlohmann::json j = nlohmann::json::parse(text);
  j["kernels"][0]["max_ulp"] = 1.0;
  EXPECT_NE(changed_since(j.dump()).find("its own hash is of other contents"), std::string::npos);
  EXPECT_EQ(changed_since(text_of_members(j)), "");
}

/// Only a word is told apart: what was edited has another hash, and what lacks a member is no certificate.
TEST(Certificate, AnUnknownWordCanBeAskedForItsHash) {
  Certificate c = right_certificate();
  conclude(c, false);
  nlohmann::json j = nlohmann::json::parse(render_certificate(c)), less = j;
  j["verdict"] = "GREAT";
  EXPECT_THROW(certificate_from_text(j.dump(), "c.json"), UnknownWord);
  EXPECT_NE(changed_since(j.dump()).find("its own hash is of other contents"), std::string::npos);
  EXPECT_EQ(changed_since(text_of_members(j)), "");
  less.erase("cases");
  try {
    certificate_from_text(less.dump(), "c.json");
    ADD_FAILURE() << "it was accepted";
  } catch (const UnknownWord&) {
    ADD_FAILURE() << "no word is unknown";
  } catch (const InputError&) {
  }
  j.erase("kernels");
  EXPECT_NE(changed_since(j.dump()), "") << "throws nothing";
}

TEST(Certificate, EveryBrokenTextIsOneLineThatNamesTheFile) {
  Certificate c = right_certificate();
  conclude(c, false);
  const std::string text = render_certificate(c);
  const auto refused = [](const std::string& bad) {
    try {
      certificate_from_text(bad, "c.json");
    } catch (const InputError& e) {
      return std::string(e.what());
    }
    return std::string("it was accepted");
  };
  for (std::size_t n = 0; n + 2 < text.size(); n += 37) {
    const std::string why = refused(text.substr(0, n));
    ASSERT_TRUE(why.starts_with("c.json: ")) << n << ": " << why;
    ASSERT_EQ(why.find('\n'), why.npos) << why;
  }
  EXPECT_EQ(refused("[]"), "c.json: is no certificate of assay adopt");
  EXPECT_EQ(refused("{\"format\": \"assay verdict 1\"}"), "c.json: is no certificate of assay adopt");
  nlohmann::json j = nlohmann::json::parse(text);
  for (const auto& [member, value] : j.items()) {
    nlohmann::json less = j;
    less.erase(member);
    EXPECT_TRUE(refused(less.dump()).starts_with("c.json: ")) << member;
    less[member] = nlohmann::json::object({{"another", "type"}});
    EXPECT_TRUE(refused(less.dump()).starts_with("c.json: ")) << member;
  }
  j["version"] = 1;
  EXPECT_EQ(refused(j.dump()), "c.json: is of version 1, and this program reads version 4");
}

TEST(Certificate, TheSampleHasTheWorstCasesAndIsTheSameForOneSeed) {
  std::vector<CertifiedCase> all(100);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].worst = i < 5, all[i].V = static_cast<std::int64_t>(i);
  const auto one = sample_of(all, 20, 1);
  ASSERT_EQ(one.size(), 20u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(one[i]->worst);
  EXPECT_EQ(sample_of(all, 20, 1), one);
  EXPECT_NE(sample_of(all, 20, 2), one);
  EXPECT_EQ(sample_of(all, 1, 1).size(), 5u);
  EXPECT_EQ(sample_of(all, 1000, 1).size(), 100u);
  EXPECT_TRUE(sample_of({}, 20, 1).empty());
}

TEST(Certificate, HowACaseMayDiffer) {
  CertifiedCase then = right_certificate().cases[0];
  Record now;
  now.status = Status::pass;
  now.max_ulp = 1.25;
  EXPECT_EQ(difference(then, now, Agreement::bits), "");
  now.max_ulp = std::nextafter(1.25, 2);
  EXPECT_NE(difference(then, now, Agreement::bits), "");
  now.max_ulp = 2.5;
  EXPECT_EQ(difference(then, now, Agreement::bits), "max_ulp was 1.25, and is 2.5");
  EXPECT_EQ(difference(then, now, Agreement::verdicts), "") << "another machine rounds otherwise";
  now.max_ulp = NAN;
  EXPECT_NE(difference(then, now, Agreement::bits), "");
  now.max_ulp.reset();
  EXPECT_EQ(difference(then, now, Agreement::verdicts), "max_ulp was 1.25, and is none");
  now.max_ulp = 1.25;
  now.status = Status::fail;
  EXPECT_EQ(difference(then, now, Agreement::verdicts), "it was pass, and is fail");
}

TEST(Certificate, TheBadgeSaysTheVerdictAndNeedsNoNetwork) {
  Certificate c = right_certificate();
  conclude(c, false);
  EXPECT_EQ(badge_words(c), "PASS");
  EXPECT_EQ(badge_line(c, ""), "[![assay: PASS](badge.svg)](certificate.html)");
  std::string svg = render_badge(c);
  EXPECT_NE(svg.find("PASS</text>"), svg.npos);
  svg.erase(svg.find("http://www.w3.org/2000/svg"), 26);  // the name of the format
  EXPECT_EQ(svg.find("http"), svg.npos);
  c.steps[1].state = Status::fail;
  conclude(c, false);
  EXPECT_EQ(badge_words(c), "FAIL");
}

}  // namespace

// The functions that a source names: no comment, no text, and with fast math those that nvcc takes instead.

namespace {

std::vector<std::string> named(const std::string& text, const std::string& flags = "", bool host = false,
                               Dtype dtype = Dtype::f32) {
  Variant v;
  v.backend = Backend::plugin;
  v.on_executor = host;
  v.dtype = dtype;
  std::vector<std::string> names;
  for (const functions::Function* f : functions_named(v, {text}, flags).all) names.push_back(f->id());
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

TEST(FunctionsUsed, AreThoseThatTheSourceNames) {
  EXPECT_EQ(named("y = expf(x - m) / d;", "", true), (Names{"expf/f32@host", "x/y/f32@host"}));
  EXPECT_EQ(named("r = 1.0f / d; y = exp2f(x) * r;", "", true), (Names{"1/x/f32@host", "exp2f/f32@host"}));
  // Neither comments nor texts are named, nor a part of a word.
  EXPECT_EQ(named("// expf(x) / d\nprintf(\"expf / hexp\"); my_expf(x);", "", true), Names());
  EXPECT_EQ(named("hexp(x)", "", true, Dtype::bf16), Names{"hexp/bf16@host"});
  // An overload is the function of float.
  EXPECT_EQ(named("y = std::exp(x - m) / log(d);", "", true),
            (Names{"expf/f32@host", "logf/f32@host", "x/y/f32@host"}));
  Variant v;
  EXPECT_NE(functions_named(v, {"copy(x)"}, "").why_none, "");
  EXPECT_EQ(functions_named(v, {"exp10f(x) + log2f(d) + expf(x)"}, "").untested,
            (std::vector<std::string>{"exp10f", "log2f"}));
}

TEST(FunctionsUsed, WithFastMathAreOthers) {
  const Names usual = named("y = expf(x - m) / d;"),
              fast = named("y = expf(x - m) / d;", "-O3 --use_fast_math");
  // A build without CUDA has no functions of a GPU.
  if (usual.empty()) GTEST_SKIP() << "this build tests no functions of a GPU";
  EXPECT_EQ(usual, (Names{"expf/f32@cuda", "x/y/f32@cuda"}));
  EXPECT_EQ(fast, (Names{"__expf/f32@cuda", "__fdividef/f32@cuda"}));
  // The host executor has no fast math.
  EXPECT_EQ(named("expf(x)", "--use_fast_math", true), Names{"expf/f32@host"});
}

}  // namespace
}  // namespace assay
