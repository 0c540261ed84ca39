// SPDX-License-Identifier: Apache-2.0
// Every page on paper, by headless Chromium.
#include <algorithm>
#include <string>
#include <vector>

#include "reports/page/browser/every_page.hpp"

namespace assay {
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
