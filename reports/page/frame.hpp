// What every page of the project has: head, verdict, contents, sections, foot. A page fills in what it says.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::page {

struct Section {
  std::string id, title, html;
};

/// All texts are HTML.
struct Frame {
  std::string verdict;  // PASS, FAIL, ...
  bool passed = false;
  std::string subject;         // of the window's title: "PASS: softmax accuracy report"
  std::string heading, about;  // `about`: a paragraph or nothing
  std::string sentence;        // beside the verdict
  std::string facts = {};      // below the verdict: counts
  std::string below = {};      // above the contents: failures, the machine
  std::vector<Section> sections = {};
  std::string_view css = {}, js = {};  // beside those that all pages have
};
/// One self-contained page. Contents are listed where there is more than one section.
std::string framed(const Frame& f);

/// A large number over a small word. Without a class of its own, a count of "0" is grey.
struct Count {
  std::string label, value, css = {};
};
std::string count_list(const std::vector<Count>& counts);

/// Labels and values as they are, not HTML.
std::string where_made(const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace assay::page
