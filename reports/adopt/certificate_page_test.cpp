// SPDX-License-Identifier: Apache-2.0
// The page of a certificate in headless Chromium: nothing of its tables is out of sight, on a wide and on a
// narrow window.
#include "reports/adopt/certificate_page.hpp"

#include <gtest/gtest.h>

#include "reference/test_folder.hpp"
#include "reports/data/files.hpp"
#include "reports/page/browser/browser_test.hpp"

namespace assay {
namespace {

using test_browser::Browser;

/// Texts as long as those of a real certificate, and longer.
Certificate long_certificate() {
  const std::string hash(64, 'e'), key = "online_topk_two_blocks_per_row/bf16:f32@host";
  const std::string command =
      "assay check kernels/of/somebody/softmax_kernels.cu --entry 'void softmax(const float* in, "
      "float* out, int rows, int V)' --host --only shapes --family normal_1 --V 131072";
  Certificate c;
  c.verdict = Verdict::fail;
  c.reason = "check: FAIL: " + command;
  c.files = {{"source", "kernels/of/somebody/softmax_kernels.cu", hash},
             {"binary", "/a/path/of/the/binary.so", hash}};
  for (const char* step : {"check", "fuzz", "functions", "sweep"})
    c.steps.push_back(
        {.name = step,
         .state = Status::fail,
         .words = key + ": 2,432 inputs, 2,432 passed, largest share of a bound 0.988; " + command,
         .planned = 123456789,
         .executed = 123456789,
         .seed = 20261126,
         .seconds = 1234.5,
         .command = command});
  c.data = {{"check/records.jsonl", hash}, {"fuzz/corpus/" + key + ".corpus.jsonl", hash}};
  CertifiedKernel k;
  k.key = key;
  k.verdict = Verdict::inconclusive;
  k.passed = k.failed = k.inconclusive = k.unsupported = 123456;
  k.max_ulp = k.max_bound_ratio = k.resolution = k.resolution_sum = 1.2345e-7;
  k.axes = {{"-inf as a mask", "found, not declared", "finite logits", "row 3, column 17: " + command}};
  k.checks = {{.name = "normalizer",
               .verdict = Status::inconclusive,
               .judged = 18405908,
               .failed = 18405908,
               .undecided = 18405908,
               .utilisation = 0.99512,
               .resolution = 1.8312e-4}};
  c.kernels = {k};
  c.speed = {
      {{.rows = 65536, .V = 131072, .k = 100}, key, Status::unsupported, 12345.6, 2345.6, 0.987, 0.987}};
  CertifiedCase one;
  one.worst = true, one.key = key, one.group = "properties", one.family = "alternating_neg_inf";
  one.V = 131072, one.rows = 65536, one.status = Status::inconclusive, one.max_ulp = 88.25,
  one.max_bound_ratio = 0.99512;
  one.reproduce = command;
  c.cases = {one};
  c.not_proved = {command};
  return c;
}

TEST(CertificatePage, SaysFirstWhatAPassIsFor) {
  Certificate c;
  c.verdict = Verdict::pass, c.reason = "check (7 cases)", c.extent = "normal";
  CertifiedKernel k;
  k.key = "mine/f32@plugin", k.verdict = Verdict::pass, k.passed = 7, k.within = "rows >= 1; V >= 1";
  k.max_ulp = 2160;
  c.kernels = {k};
  const auto has = [](const std::string& text, const char* words) { return text.find(words) != text.npos; };
  EXPECT_EQ(badge_words(c), "PASS");
  c.kernels[0].on_host = true;
  EXPECT_EQ(badge_words(c), "PASS on the CPU");
  for (const auto& [where, words] : {std::pair("sandbox", "PASS on the CPU; sandbox: bubblewrap"),
                                     std::pair("landlock", "PASS on the CPU; sandbox: Landlock"),
                                     std::pair("not_sandboxed", "PASS on the CPU; not sandboxed")}) {
    c.kernels[0].where = where;
    EXPECT_EQ(badge_words(c), words);
  }
  c.kernels[0].where.clear();
  c.extent = "quick";
  EXPECT_EQ(badge_words(c), "PASS on the CPU, quick check");
  EXPECT_TRUE(render_certificate_terminal(c).starts_with(
      "PASS on the CPU, quick check: mine/f32@plugin\n  mine/f32@plugin within: rows >= 1; V >= 1\n  It ran "
      "on the "
      "CPU: this is no adoption for a GPU. The check was quick.\n  check (7 cases)\n"))
      << render_certificate_terminal(c);
  std::string page = render_certificate_page(c);
  EXPECT_TRUE(has(page, "no adoption for a GPU") &&
              has(page, "<p>Right within: rows &gt;= 1; V &gt;= 1</p>"));
  EXPECT_FALSE(has(page, "None: ")) << page;
  // Two kernels, one of them on a GPU.
  c.kernels.push_back(k);
  EXPECT_EQ(badge_words(c), "PASS, quick check");
  // A contract is claimed only for what passed.
  c.kernels = {k};
  c.verdict = c.kernels[0].verdict = Verdict::fail, c.kernels[0].failed = 1;
  page = render_certificate_page(c);
  EXPECT_FALSE(has(page, "Right within")) << page;
  EXPECT_TRUE(has(page, "None: it is not right. Tried within: rows &gt;= 1; V &gt;= 1"));
  EXPECT_EQ(badge_words(c), "FAIL");
  EXPECT_FALSE(has(render_certificate_terminal(c), "within"));
  c.verdict = c.kernels[0].verdict = Verdict::not_run, c.kernels[0].passed = c.kernels[0].failed = 0;
  EXPECT_TRUE(has(render_certificate_page(c), "None: nothing was judged."));
}

TEST(CertificatePage, ShowsEveryColumnWithoutScrolling) {
  const std::string program = test_browser::find_chromium();
  if (program.empty()) GTEST_SKIP() << "chromium is not installed (Debian package: chromium)";
  const TestFolder own;
  write_files({{own.path() / "certificate.html", render_certificate_page(long_certificate())}});
  Browser b(program, own.path());
  for (const int width : {1400, 800}) {
    b.width(width);
    b.open(own.path() / "certificate.html");
    EXPECT_GE(b.evaluate("document.querySelectorAll('.scroll').length").get<int>(), 7);
    EXPECT_EQ(
        b.text("[...document.querySelectorAll('.scroll')].filter(s => s.scrollWidth > s.clientWidth + 1)"
               ".map(s => s.closest('section').id).join(' ')"),
        "")
        << "at " << width;
    EXPECT_TRUE(b.evaluate("document.documentElement.scrollWidth <= innerWidth + 1").get<bool>()) << width;
  }
  for (const std::string& fault : b.faults()) ADD_FAILURE() << fault;
}

}  // namespace
}  // namespace assay
