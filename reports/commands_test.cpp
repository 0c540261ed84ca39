// The command line as a reader meets it: the help of every verb.
#include "reports/commands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace assay {
namespace {

using Words = std::vector<std::string>;

std::string help_of(const Words& verb) {
  std::vector<const char*> argv = {"assay"};
  for (const std::string& w : verb) argv.push_back(w.c_str());
  argv.push_back("--help");
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_assay(static_cast<int>(argv.size()), argv.data()), kPassed);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

/// The verbs below one: the first words of the lines under "Subcommands:".
Words verbs_below(const std::string& help) {
  Words verbs;
  bool inside = false;
  std::istringstream in(help);
  for (std::string line; std::getline(in, line);)
    if (line == "Subcommands:")
      inside = true;
    else if (line.empty())
      inside = false;
    else if (inside && line.starts_with("  ") && line[2] != ' ')
      verbs.push_back(line.substr(2, line.find(' ', 2) - 2));
  return verbs;
}

/// Every verb, and those below it, with its help.
std::vector<std::pair<std::string, std::string>> every_help() {
  std::vector<std::pair<std::string, std::string>> all;
  std::vector<Words> left = {{}};
  while (!left.empty()) {
    const Words verb = left.back();
    left.pop_back();
    std::string name = "assay";
    for (const std::string& w : verb) name += " " + w;
    all.emplace_back(name, help_of(verb));
    for (const std::string& below : verbs_below(all.back().second)) {
      left.push_back(verb);
      left.back().push_back(below);
    }
  }
  return all;
}

/// What of the program shows in a line of help, empty if nothing does.
std::string leak_in(const std::string& text) {
  for (const char* part : {"->", "::", "{", "}", "std", "nullptr", "\\"})
    if (text.find(part) != text.npos) return part;
  std::smatch found;
  if (std::regex_search(text, found, std::regex("\\b[A-Z]{2,}:[A-Z]\\w*")))
    return found.str();  // INT:INT in [1 - 8]
  for (const auto& [open, close] : {std::pair('(', ')'), std::pair('[', ']')}) {
    int depth = 0;
    for (const char c : text) {
      depth += (c == open) - (c == close);
      if (depth < 0) break;
    }
    if (depth != 0) return std::string("unbalanced ") + open + close;
  }
  if (std::count(text.begin(), text.end(), '"') % 2 != 0) return "a lone \"";
  return {};
}

TEST(Help, OfEveryVerbIsWordsAndNotProgramText) {
  const auto all = every_help();
  EXPECT_GE(all.size(), 17u);
  for (const auto& [verb, help] : all) {
    EXPECT_NE(help.find("Usage: " + verb + " "), help.npos) << help;
    std::istringstream in(help);
    for (std::string line; std::getline(in, line);) EXPECT_EQ(leak_in(line), "") << verb << ": " << line;
  }
}

TEST(Help, LeaksAreSeen) {
  for (const char* line :
       {"k of top-k (5->check(whole); also 1, V and 64 at some V)",
        "--oracle ENUM:value in {fast->0,mpfr->1} OR {0,1}=fast", "--threads INT:INT in [1 - 1024]",
        "folder (out/check", "a) b(", "\"exp=fast", "std::string"})
    EXPECT_NE(leak_in(line), "") << line;
  EXPECT_EQ(leak_in("  --declare TEXT  what the author promises: \"exp=fast; ties=smaller_index\" (f(x, m))"),
            "");
}

TEST(Help, AWordThatIsNoneOfAFewIsNamedWithTheFew) {
  const char* const words[] = {"assay", "report", "--oracle", "slow"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_assay(4, words), kBadCall);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "assay: --oracle slow: must be fast or mpfr\n");
}

}  // namespace
}  // namespace assay
