// SPDX-License-Identifier: Apache-2.0
// Tests as text. A case file holds tests of one kind, and its ending names the kind: `.calls` are command
// lines (reports/cli), `.entries` are declarations of launchers (kernels/adapter/entry). A line is a mark, a
// blank and a text; what marks mean is for the kind to say. The following are the same for all kinds:
//
//   == Name             begins a test. Its suite is the file's name: no_such.calls has tests NoSuch.Name
//   # text              a comment; a blank line ends a paragraph
//   each X a | b        repeats the rest of the paragraph with {X} replaced by a, then by b
//   $ text => what      what is done, and what must come of it. => (or =!) may also begin a line of its own
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/adapter/embedded.hpp"

namespace assay::cases {

struct Line {
  int number = 0;
  std::string mark, text;
};
struct Case {
  std::string file, suite, name;
  int number = 0;
  std::vector<Line> lines;
};

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// "a | b" has two parts. There may be blanks around the bar.
inline std::vector<std::string> parts_of(const std::string& text, const std::string& bar = " | ") {
  std::vector<std::string> all;
  for (std::size_t at = 0, end; at <= text.size(); at = end + bar.size()) {
    end = std::min(text.find(bar, at), text.size());
    all.push_back(text.substr(at, end - at));
  }
  return all;
}

/// Words as a shell reads them; only single quotes quote.
inline std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, any = false;
  for (const char c : text + " ") {
    if (c == '\'') {
      quoted = !quoted, any = true;
    } else if (c == ' ' && !quoted) {
      if (any || !word.empty()) words.push_back(word);
      word.clear(), any = false;
    } else {
      word += c;
    }
  }
  if (quoted) ADD_FAILURE() << "a quote is not closed: " << text;
  return words;
}

/// True if the line holds the text. Where the text begins with ^, the line begins with the rest; where it
/// ends with $, the line ends with it.
inline bool holds(std::string_view line, std::string_view text) {
  const bool first = text.starts_with('^'), last = text.ends_with('$');
  text = text.substr(first, text.size() - first - last);
  if (first && last) return line == text;
  return first ? line.starts_with(text) : last ? line.ends_with(text) : line.find(text) != line.npos;
}

/// The paragraph from `from` on with its `each` lines carried out.
inline std::vector<Line> repeated(const std::vector<Line>& paragraph, std::size_t from = 0) {
  std::vector<Line> all;
  for (std::size_t i = from; i < paragraph.size(); ++i) {
    const Line& l = paragraph[i];
    if (l.mark != "each") {
      all.push_back(l);
      continue;
    }
    const std::size_t blank = l.text.find(' ');
    for (const std::string& value : parts_of(l.text.substr(blank + 1))) {
      std::vector<Line> rest(paragraph.begin() + static_cast<std::ptrdiff_t>(i) + 1, paragraph.end());
      for (Line& r : rest) r.text = replaced(r.text, "{" + l.text.substr(0, blank) + "}", value);
      for (Line& r : repeated(rest)) all.push_back(std::move(r));
    }
    return all;
  }
  return all;
}

/// A line, and the => behind it as a line of its own.
inline void add_line(std::vector<Line>& lines, const Line& l) {
  std::size_t end = l.text.npos;
  if (l.mark.starts_with('$'))
    for (const char* const sign : {" => ", " =! "}) end = std::min(end, l.text.find(sign));
  lines.push_back({l.number, l.mark, l.text.substr(0, end)});
  if (end != l.text.npos) lines.push_back({l.number, l.text.substr(end + 1, 2), l.text.substr(end + 4)});
}

/// The tests of a file.
inline std::vector<Case> cases_of(std::string_view path, const std::string& text) {
  std::string suite;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  bool upper = true;
  for (const char c : name.substr(0, name.find('.')))
    if (c == '_')
      upper = true;
    else
      suite += upper ? static_cast<char>(std::toupper(c)) : c, upper = false;
  std::vector<Case> all;
  std::vector<Line> paragraph;
  const auto end_paragraph = [&] {
    if (!all.empty())
      for (Line& l : repeated(paragraph)) all.back().lines.push_back(std::move(l));
    paragraph.clear();
  };
  int number = 0;
  for (const std::string& line : parts_of(text, "\n")) {
    ++number;
    const std::size_t blank = std::min(line.find(' '), line.size());
    const Line l{number, line.substr(0, blank), line.substr(std::min(blank + 1, line.size()))};
    if (l.mark.empty() || l.mark == "==") end_paragraph();
    if (l.mark == "==")
      all.push_back({std::string(path), suite, l.text, number, {}});
    else if (!l.mark.empty() && l.mark != "#")
      add_line(paragraph, l);
  }
  end_paragraph();
  return all;
}

class CaseTest : public testing::Test {
 public:
  CaseTest(const Case& one, void (*run)(const Case&)) : one_(one), run_(run) {}
  void TestBody() override { run_(one_); }

 private:
  Case one_;
  void (*run_)(const Case&);
};

/// Makes a test of each case in the files with this ending.
inline bool register_cases(std::string_view ending, void (*run)(const Case&)) {
  for (const EmbeddedText& file : case_texts())
    if (file.path.ends_with(ending))
      for (const Case& c : cases_of(file.path, std::string(file.text)))
        testing::RegisterTest(c.suite.c_str(), c.name.c_str(), nullptr, nullptr, c.file.c_str(), c.number,
                              [c, run]() -> testing::Test* { return new CaseTest(c, run); });
  return true;
}

/// True if a test with these lines would pass. What it says is swallowed.
inline bool passes(void (*run)(const Case&), const std::string& lines) {
  testing::TestPartResultArray said;
  {
    using Reporter = testing::ScopedFakeTestPartResultReporter;
    const Reporter swallowed(Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &said);
    for (const Case& c : cases_of("planted", "== Planted\n" + lines)) try {
        run(c);
      } catch (const std::exception&) {
        return false;
      }
  }
  for (int i = 0; i < said.size(); ++i)
    if (said.GetTestPartResult(i).failed()) return false;
  return true;
}

}  // namespace assay::cases
