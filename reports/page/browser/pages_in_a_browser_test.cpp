// SPDX-License-Identifier: Apache-2.0
// The pages of a report in headless Chromium: somebody filters, sorts, opens a kernel's page and comes back,
// with the mouse and with the keyboard, on a wide and on a narrow window.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "reports/data/files.hpp"
#include "reports/page/browser/browser_test.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/page/test_data.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using test_browser::Browser;
using test_browser::kOutOfReach;

/// The kernels of index.html as they stand there; those that the filter hides are left out.
std::vector<std::string> kernels(Browser& b) {
  return b
      .evaluate(
          "[...document.querySelector('table.filtered').tBodies[0].rows].filter(r => !r.hidden)"
          ".map(r => r.cells[0].querySelector('a').textContent)")
      .get<std::vector<std::string>>();
}

class PagesInABrowser : public testing::Test {
 protected:
  PagesInABrowser() : folder_(fs::temp_directory_path() / ("assay-browser-" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    prepare_folder(folder_ / "report");
  }
  ~PagesInABrowser() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;
};

TEST_F(PagesInABrowser, AreReadClickedAndTypedThrough) {
  const std::string program = test_browser::find_chromium();
  if (program.empty()) GTEST_SKIP() << "chromium is not installed (Debian package: chromium)";
  ReportData data = test_data::synthetic(1, {"host"});
  test_data::break_one(data);
  write_report(folder_ / "report", data, {});
  Browser b(program, folder_);
  b.width(1400);
  b.open(folder_ / "report" / "index.html");

  const std::vector<std::string> all = kernels(b);
  ASSERT_EQ(all.size(), test_data::kVariants.size());
  EXPECT_EQ(b.text("document.querySelector('.verdict b').textContent"), "FAIL");
  EXPECT_TRUE(b.evaluate("document.querySelector('code.cmd').getBoundingClientRect().bottom < innerHeight")
                  .get<bool>())
      << "the command that repeats the failure is on the first screen";

  // Filter: the words may stand anywhere in a row.
  b.click(".filter input");
  b.type("online warp");
  EXPECT_EQ(kernels(b), std::vector<std::string>{"online_warp"});
  EXPECT_EQ(b.text("document.querySelector('.filter output').textContent"),
            "1 of " + std::to_string(all.size()));
  b.evaluate(
      "(() => {const i = document.querySelector('.filter input'); i.value = ''; "
      "i.dispatchEvent(new Event('input'))})()");
  EXPECT_EQ(kernels(b), all);

  // Sort by name with the mouse, and back to front with the keyboard.
  std::vector<std::string> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  b.click("table.filtered thead tr:last-child th:first-child button");
  EXPECT_EQ(kernels(b), sorted);
  b.key("Enter", 13, "\r");
  std::reverse(sorted.begin(), sorted.end());
  EXPECT_EQ(kernels(b), sorted);
  EXPECT_EQ(b.text("document.querySelector('table.filtered [aria-sort]').getAttribute('aria-sort')"),
            "descending");
  b.key("Tab", 9);
  EXPECT_EQ(b.text("document.activeElement.textContent"), "verdict") << "the next heading";

  // A kernel's page and back.
  const std::string first = kernels(b).front();
  b.click("table.filtered tbody tr:first-child a");
  b.wait_for_load();
  EXPECT_EQ(b.text("document.querySelector('h1').textContent"), first);
  EXPECT_EQ(b.text(kOutOfReach), "") << first;
  b.click("nav.pages a");
  b.wait_for_load();
  EXPECT_EQ(kernels(b), all);

  for (const int width : {1400, 800})
    for (const char* page : {"index.html", "compare.html", "kernels/online_block.html"}) {
      b.width(width);
      b.open(folder_ / "report" / page);
      EXPECT_EQ(b.text(kOutOfReach), "") << page << " at " << width;
    }
  for (const std::string& fault : b.faults()) ADD_FAILURE() << fault;
}

}  // namespace

// Every page on paper, by headless Chromium.

namespace {

using test_browser::Browser;

TEST_F(EveryPage, OnPaperShowsWholeTablesAndNoControls) {
  browser_->medium("print", "dark");
  for (const char* page : kPages) {
    Browser& b = open(page, 1400);
    EXPECT_EQ(b.text("(() => {const bad = [];"
                     "for (const e of document.querySelectorAll('.filter, nav, .pick'))"
                     "  if (e.offsetHeight > 0) bad.push(e.className + ' is printed');"
                     "for (const e of document.querySelectorAll('.scroll'))"
                     "  if (e.scrollHeight > e.clientHeight + 2) bad.push('a table is cut off');"
                     "for (const e of document.querySelectorAll('thead, tr > :first-child'))"
                     "  if (getComputedStyle(e).position === 'sticky') bad.push('a sticky ' + e.tagName);"
                     "return [...new Set(bad)].join('; ')})()"),
              "")
        << page;
    EXPECT_EQ(b.text(test_browser::kHardToRead), "") << page;
    EXPECT_EQ(b.text("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)") << page;
  }
}

/// What is cut at the right edge of the paper: its width in pixels is the window's.
constexpr const char* kCutOnPaper = R"js((() => {
  const bad = [];
  for (const t of document.querySelectorAll("table"))
    if (t.getBoundingClientRect().right > innerWidth + 1)
      bad.push((t.closest("section") || {id: "?"}).id + ": " + Math.round(t.getBoundingClientRect().right));
  if (document.documentElement.scrollWidth > innerWidth + 1) bad.push("the page is wider than the paper");
  return bad.join("; ");
})())js";
constexpr int kPaper = 1047;  // A4, landscape, with margins of 10 mm

TEST_F(EveryPage, OnPaperIsNotCutAtTheRight) {
  int smaller = 0;
  for (const char* page : kPages) {
    Browser& b = open(page, kPaper);
    b.evaluate("for (const p of document.querySelectorAll('.choice [data-dtype]')) p.hidden = false");
    b.evaluate("dispatchEvent(new Event('beforeprint'))");
    const std::string zoomed = "[...document.querySelectorAll('table')].filter(t => t.style.zoom).length";
    smaller += b.evaluate(zoomed).get<int>();
    browser_->medium("print", "light");
    EXPECT_EQ(b.text(kCutOnPaper), "") << page;
    browser_->medium("screen", "light");
    b.evaluate("dispatchEvent(new Event('afterprint'))");
    EXPECT_EQ(b.evaluate(zoomed), 0) << page;
    EXPECT_EQ(
        b.text("[...document.styleSheets[0].cssRules].filter(r => r.media && r.media.mediaText === 'print')"
               ".length > 0 ? '' : 'the rules for paper are lost'"),
        "");
  }
  EXPECT_GT(smaller, 0) << "no page has a table that is wider than the paper";
}

TEST_F(EveryPage, IsPrintedOnALyingPage) {
  Browser& b = open("sweep.html", 1400);
  b.evaluate("addEventListener('beforeprint', () => { window.told = true; })");
  const auto pdf = b.call("Page.printToPDF", {{"preferCSSPageSize", true}}).at("data").get<std::string>();
  EXPECT_TRUE(b.evaluate("window.told === true")) << "a browser tells a page before it prints it";
  const std::string size = "(() => {const m = atob('" + pdf +
                           "').match(/MediaBox \\[0 0 (\\d+)\\S* (\\d+)/); return m[1] + ' x ' + m[2]})()";
  EXPECT_EQ(b.text(size), "841 x 594") << "A4, in points";
}

}  // namespace
}  // namespace assay
