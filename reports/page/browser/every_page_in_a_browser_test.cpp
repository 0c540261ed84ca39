// SPDX-License-Identifier: Apache-2.0
// Every page in headless Chromium: on two widths, with the keyboard, and in light and dark colours.
#include <algorithm>
#include <string>
#include <vector>

#include "reports/page/browser/browser_test.hpp"

namespace assay {
namespace {

using test_browser::Browser;

TEST_F(EveryPage, HidesNothingOnAWideAndOnANarrowWindow) {
  for (const char* page : kPages)
    for (const int width : {1400, 800})
      EXPECT_EQ(open(page, width).text(test_browser::kOutOfReach), "") << page << " at " << width;
}

TEST_F(EveryPage, IsFilteredAndSortedWithTheKeyboard) {
  for (const auto& [page, word] : {std::pair{"selftest.html", "all_zero"},
                                   {"functions.html", "exp2"},
                                   {"sweep.html", "onepass_fast"},
                                   {"index.html", "online"}}) {
    Browser& b = open(page, 1400);
    const char* rows =
        "(() => {const t = document.querySelector('.filter').nextElementSibling.querySelector('table');"
        "return [...t.tBodies[0].rows].filter(r => !r.hidden).map(r => r.textContent)})()";
    const auto all = b.evaluate(rows).get<std::vector<std::string>>();
    b.evaluate("document.querySelector('.filter input').focus()");
    b.type(word);
    const auto few = b.evaluate(rows).get<std::vector<std::string>>();
    EXPECT_LT(few.size(), all.size()) << page;
    ASSERT_FALSE(few.empty()) << page;
    for (const std::string& row : few) EXPECT_NE(row.find(word), std::string::npos) << page << row;
    // The table itself takes the focus, so that arrow keys scroll it; then its headings.
    b.key("Tab", 9);
    EXPECT_EQ(b.text("document.activeElement.className"), "scroll") << page;
    b.key("Tab", 9);
    EXPECT_EQ(b.text("document.activeElement.tagName"), "BUTTON") << page;
    b.key("Enter", 13, "\r");
    EXPECT_EQ(b.text("document.activeElement.closest('th').getAttribute('aria-sort')"), "ascending") << page;
    const std::string names =
        "(() => {const t = document.querySelector('.filter').nextElementSibling.querySelector('table');"
        "return [...t.tBodies[0].rows].map(r => (r.cells[0].querySelector('a, code') || "
        "r.cells[0]).textContent)})()";
    const auto sorted = b.evaluate(names).get<std::vector<std::string>>();
    EXPECT_TRUE(std::is_sorted(sorted.begin(), sorted.end())) << page;
  }
}

/// The headings without a button, of tables that have more than five rows; and those of a column of pictures
/// that have one, which can sort nothing.
constexpr const char* kNotSorted = R"js((() => {
  const bad = [];
  for (const t of document.querySelectorAll("table")) {
    const bodies = [...t.tBodies], parts = bodies.length > 1 ? bodies.length : bodies[0].rows.length;
    if (!t.tHead || parts <= 5) continue;
    const pictures = [...t.tBodies[0].rows[0].cells].map(c => c.querySelector("svg") && !c.textContent.trim());
    for (const h of t.tHead.querySelectorAll("th"))
      if (h.colSpan === 1 && h.textContent && !h.querySelector("button") === !(t.tHead.rows.length === 1 && pictures[h.cellIndex]))
        bad.push((t.closest("section") || {id: "?"}).id + ": " + h.textContent);
  }
  return bad.join("; ");
})())js";

TEST_F(EveryPage, SortsEveryTableOfMoreThanFiveRows) {
  for (const char* page : kPages) EXPECT_EQ(open(page, 1400).text(kNotSorted), "") << page;
}

/// Clicks a heading of the first table of a section, and returns that column's cells in their
/// new order.
std::vector<std::string> clicked(Browser& b, const std::string& section, int heading, int column) {
  const std::string id = "#" + section + " ";
  b.evaluate("document.querySelectorAll('" + id + "thead th button')[" + std::to_string(heading) +
             "].id = 'clicked'");
  b.click("#clicked");
  b.evaluate("document.getElementById('clicked').id = ''");
  return b
      .evaluate("[...document.querySelector('" + id + "table').tBodies[0].rows].map(r => r.cells[" +
                std::to_string(column) + "].firstChild.textContent)")
      .get<std::vector<std::string>>();
}

TEST_F(EveryPage, SortsTablesWithTwoRowsOfHeadings) {
  Browser& b = open("sweep.html", 1400);
  // A heading that stands for both rows; then one of the second row, whose cells have only words.
  const std::vector<std::string> v = {"131,072", "65,536", "32,768", "16,384",
                                      "8,192",   "4,096",  "2,048",  "1,024"};
  EXPECT_EQ(clicked(b, "worklog", 0, 0), v);
  EXPECT_EQ(clicked(b, "worklog", 0, 0), std::vector<std::string>(v.rbegin(), v.rend()));
  const std::vector<std::string> factors = clicked(b, "worklog", 4, 4);
  ASSERT_EQ(factors.size(), 8u);
  EXPECT_EQ(factors.front(), "1.17\u00d7");
  for (std::size_t i = 1; i < factors.size(); ++i)
    EXPECT_GE(std::stod(factors[i - 1]), std::stod(factors[i])) << i;
  const std::vector<std::string> shapes = clicked(b, "tutorial", 0, 0);
  ASSERT_GT(shapes.size(), 5u);
  EXPECT_EQ(shapes.front(), "32 \u00d7 512");
  EXPECT_EQ(shapes.back(), "64 \u00d7 8,192") << "numbers in words count as numbers";
}

TEST_F(EveryPage, SortsHexadecimalNumbersByTheirValue) {
  Browser& b = open("compare.html", 1400);
  for (const int column : {4, 6, 7}) {  // logit, got, exact value
    const std::string heading = "#worst thead th:nth-child(" + std::to_string(column + 1) + ") button";
    b.click(heading);
    const auto shown =
        b.evaluate("[...document.querySelector('#worst table').tBodies].map(t => t.rows[0].cells[" +
                   std::to_string(column) + "].firstChild.textContent)")
            .get<std::vector<std::string>>();
    ASSERT_GT(shown.size(), 5u);
    std::vector<double> values;
    for (const std::string& s : shown) values.push_back(std::stod(s.substr(s[0] == '[')));
    EXPECT_LT(values.back(), values.front());
    EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend())) << "column " << column;
  }
}

TEST_F(EveryPage, SortsNumbersAmongWordsByTheirValue) {
  Browser& b = open("sweep.html", 1400);
  const auto sorted = [&](const std::vector<std::string>& words) {
    b.evaluate(
        "(words => [...document.querySelector('#tutorial table').tBodies[0].rows].forEach((r, i) => "
        "{const c = r.cells[0]; c.removeAttribute('class'); c.textContent = words[i % words.length]}))(" +
        test_browser::json(words).dump() + ")");
    std::vector<std::string> all = clicked(b, "tutorial", 0, 0);
    // Words sort upwards at the first click, and the other way at the next.
    if (b.text("document.querySelector('#tutorial thead th').getAttribute('aria-sort')") == "descending")
      std::reverse(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(sorted({"1.5x", "1.285x", "12x", "1.06x"}), (Words{"1.06x", "1.285x", "1.5x", "12x"}));
  EXPECT_EQ(sorted({"-1.5 %", "2 %", "-3 %", "\u22120.5 %"}),
            (Words{"-3 %", "-1.5 %", "\u22120.5 %", "2 %"}));
  EXPECT_EQ(sorted({"V 1,024, f16", "V 129, f32", "V 129, f16"}),
            (Words{"V 129, f16", "V 129, f32", "V 1,024, f16"}));
  EXPECT_EQ(sorted({"from 2e-05 on", "from 0.5 on", "from 1.5e-5 on"}),
            (Words{"from 1.5e-5 on", "from 2e-05 on", "from 0.5 on"}));
}

TEST_F(EveryPage, SortsCellsThatHaveOnlySmallWords) {
  Browser& b = open("selftest.html", 1400);
  // Of most right kernels, the cell has no family: "V 129, f32" in small letters.
  const std::string inputs =
      "[...document.querySelector('#right table').tBodies[0].rows].map(r => r.cells[2].textContent)"
      ".filter(t => t.startsWith('V '))";
  b.click("#right thead th:nth-child(3) button");
  const auto up = b.evaluate(inputs).get<std::vector<std::string>>();
  ASSERT_GT(up.size(), 5u);
  EXPECT_NE(up.front(), up.back());
  EXPECT_TRUE(std::is_sorted(up.begin(), up.end()));
  b.click("#right thead th:nth-child(3) button");
  const auto down = b.evaluate(inputs).get<std::vector<std::string>>();
  EXPECT_TRUE(std::is_sorted(down.rbegin(), down.rend()));
}

TEST_F(EveryPage, KeepsTheRowsOfACaseTogether) {
  Browser& b = open("compare.html", 1400);
  const char* cases =
      "[...document.querySelector('#worst table').tBodies].map(t => t.rows.length + ' ' + "
      "t.rows[0].cells[2].dataset.v)";
  const auto before = b.evaluate(cases).get<std::vector<std::string>>();
  ASSERT_GT(before.size(), 5u);
  b.click("#worst thead th:nth-child(3) button");
  const auto after = b.evaluate(cases).get<std::vector<std::string>>();
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i][0], '2') << "a case and its command";
    if (i > 0) {
      EXPECT_GE(std::stod(after[i - 1].substr(2)), std::stod(after[i].substr(2)));
    }
  }
}

TEST_F(EveryPage, IsReadableInLightAndDarkColours) {
  for (const char* page : kPages) {
    for (const char* scheme : {"light", "dark"}) {
      browser_->medium("screen", scheme);
      Browser& b = open(page, 1400);
      EXPECT_EQ(b.text(test_browser::kHardToRead), "") << page << ' ' << scheme;
      const double red =
          b.evaluate("Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])");
      EXPECT_EQ(red < 128, std::string(scheme) == "dark") << page;
    }
  }
}

TEST_F(EveryPage, BreaksALongNameBehindItsSigns) {
  Browser& b = open("compare.html", 1400);
  EXPECT_GT(b.evaluate("document.querySelectorAll('tbody th wbr').length").get<int>(), 10);
  // No line of a name begins within a word.
  EXPECT_EQ(b.text(R"js((() => {
    const bad = new Set(), range = document.createRange();
    for (const th of document.querySelectorAll("tbody th")) {
      const words = document.createTreeWalker(th, NodeFilter.SHOW_TEXT);
      while (words.nextNode()) {
        range.selectNodeContents(words.currentNode);
        if (!/\s/.test(words.currentNode.data) && range.getClientRects().length > 1) bad.add(th.textContent);
      }
    }
    return [...bad].join("; ");
  })())js"),
            "");
}

TEST_F(EveryPage, IsNotFilteredByThePeersOfARow) {
  write_files(
      {{folder_ / "filter.html",
        "<!DOCTYPE html><table class=\"filtered\"><thead><tr><th rowspan=\"2\">kernel</th><th "
        "colspan=\"2\">error, "
        "and best peer</th><th "
        "rowspan=\"2\">verdict</th></tr><tr><th>f16</th><th>f32</th></tr></thead><tbody>"
        "<tr><th>one</th><td>1</td><td>fast</td><td>right</td></tr>"
        "<tr><th>one_fast</th><td>1</td><td>other</td><td>right</td></tr></tbody></table><script>" +
            read_file(std::filesystem::path(ASSAY_SOURCE_DIR) / "reports/page/page.js") + "</script>"}});
  Browser& b = open("filter.html", 1400);
  const auto shown = [&](const std::string& words) {
    b.evaluate("(() => {const i = document.querySelector('.filter input'); i.value = '" + words +
               "'; i.dispatchEvent(new Event('input'))})()");
    return b.text(
        "[...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).map(r => r.cells[0].textContent)"
        ".join(' ')");
  };
  EXPECT_EQ(shown("one fast"), "one_fast") << "the other's peer is fast";
  EXPECT_EQ(shown("one right"), "one one_fast");
  EXPECT_EQ(shown("other"), "");
}

TEST_F(EveryPage, OfASweepShowsTheNumbersOfAMarkAndOfACell) {
  Browser& b = open("sweep_shapes.html", 1400);
  // A page that scrolls hides the numbers. So wait until it stands still.
  const auto stand_still = [&] {
    b.call("Runtime.evaluate",
           {{"expression", "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"},
            {"awaitPromise", true}});
  };
  const auto under = [&](const std::string& selector) {
    b.evaluate("document.querySelector('" + selector + "').scrollIntoView({block: 'center'})");
    stand_still();
    const auto at =
        b.evaluate("(() => {const r = document.querySelector('" + selector +
                   "').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]})()");
    b.call("Input.dispatchMouseEvent", {{"type", "mouseMoved"}, {"x", at[0]}, {"y", at[1]}});
    return b.text("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent");
  };
  EXPECT_NE(under("#lines .pt").find("of the copy"), std::string::npos);
  EXPECT_NE(under("svg.heat path").find(" rows: "), std::string::npos);
  // And with the keyboard: the arrows go from mark to mark.
  const std::string told =
      "document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent";
  b.evaluate("document.querySelector('#lines figure svg').focus()");
  stand_still();
  b.key("ArrowRight", 39);
  const std::string first = b.text(told);
  EXPECT_NE(first.find("of the copy"), std::string::npos);
  b.key("ArrowRight", 39);
  EXPECT_NE(b.text(told), first);
  EXPECT_NE(b.text(told), "");
  b.key("ArrowLeft", 37);
  EXPECT_EQ(b.text(told), first);
  b.key("Escape", 27);
  EXPECT_EQ(b.text(told), "");
}

}  // namespace
}  // namespace assay
