// SPDX-License-Identifier: Apache-2.0
// The command line as a reader sees it: the help of every verb.
#include "reports/cli/commands.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/options.hpp"

namespace assay {
namespace {

using Words = std::vector<std::string>;

std::string help_of(const Words& verb) {
  Words words = verb;
  words.push_back("--help");
  const command_test::Outcome o = command_test::call_words(words);
  EXPECT_EQ(o.status, kPassed) << o.err;
  return o.out;
}

/// The verbs below a verb: the first words of the lines under "Subcommands:".
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

/// Every verb, with those below it, and its help.
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

/// An implementation detail that is visible in a line of help; empty if there is none.
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

/// What a call prints on standard error. Its status must be that of a wrong call.
std::string refused(const Words& words) {
  const command_test::Outcome o = command_test::call_as_typed(words);
  EXPECT_EQ(o.status, kBadCall) << testing::PrintToString(words);
  return o.err;
}

/// The words of "assay sweep launch", without the first.
Words words_of(const std::string& verb) {
  Words words = command_test::words_of(verb);
  words.erase(words.begin());
  return words;
}

constexpr const char* kWholeOptions[] = {"--seed",   "--V",           "--rows",  "--k",
                                         "--device", "--threads",     "--pitch", "--launches",
                                         "--stride", "--evaluations", "--jobs"};

TEST(Options, EveryWholeNumberOfEveryVerbHasOneReader) {
  int met = 0;
  for (const auto& [verb, help] : every_help())
    for (const std::string option : kWholeOptions) {
      if (help.find("\n  " + option + " ") == help.npos) continue;
      ++met;
      for (const std::string bad : {"010", "1e3", "1_000", " 5", "5 ", "5x", "x", "-1", "+5", "1.0", "0x",
                                    "0b1", "", "99999999999999999999", "5\n"}) {
        Words call = words_of(verb);
        call.insert(call.end(), {option, bad});
        const std::string said = refused(call);
        EXPECT_TRUE(said.starts_with("assay: " + option + " ")) << verb << ": " << said;
        EXPECT_NE(said.find("must be a whole number from "), said.npos) << verb << ": " << said;
        EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << verb << ": " << said;
      }
      if (option == "--seed") continue;
      Words call = words_of(verb);
      call.insert(call.end(), {option, "0x10"});
      EXPECT_NE(refused(call).find(option + " 0x10: must be"), std::string::npos) << verb;
    }
  EXPECT_GE(met, 45);
}

TEST(Options, AWholeNumberIsDecimal) {
  EXPECT_EQ(whole_number("--V", "0"), 0u);
  EXPECT_EQ(whole_number("--V", "18446744073709551615"), 18446744073709551615u);
  EXPECT_EQ(whole_number("--seed", "0x10", {.hexadecimal = true}), 16u);
  EXPECT_EQ(whole_number("--seed", "10", {.hexadecimal = true}), 10u);
  EXPECT_EQ(whole_number("--jobs", "1024", {.least = 1, .most = 1024}), 1024u);
  for (const char* bad : {"0", "1025", "18446744073709551616"})
    EXPECT_THROW(whole_number("--jobs", bad, {.least = 1, .most = 1024}), InputError) << bad;
  for (const char* bad : {"0x10", "010", "00", "-0", "0x-1", "0x 1", "0x0x1"})
    EXPECT_THROW(whole_number("--V", bad), InputError) << bad;
  for (const char* bad : {"010", "0x", "0x-1", "0x 1", "0x0x1", "0x1g", "0x10000000000000000"})
    EXPECT_THROW(whole_number("--seed", bad, {.hexadecimal = true}), InputError) << bad;
}

TEST(Options, EveryVerbWithAnEmptyOutSaysSo) {
  int met = 0;
  for (const auto& [verb, help] : every_help()) {
    if (help.find("\n  --out ") == help.npos) continue;
    ++met;
    Words call = words_of(verb);
    call.insert(call.end(), {"--out", ""});
    EXPECT_EQ(refused(call), "assay: --out '': must be a path\n") << verb;
  }
  EXPECT_GE(met, 11);
}

TEST(Options, BytesThatAreNoTextDoNotReachATerminal) {
  const std::string said = refused({"check", "safe_block/f32@host", "--rows", "\xff\xfe\x1b[2J"});
  EXPECT_EQ(said.find('\xff'), said.npos) << said;
  EXPECT_EQ(said.find('\x1b'), said.npos) << said;
}

TEST(Options, WhatIsRequiredIsCudaOrHostEverywhere) {
  for (const auto& [verb, help] : every_help()) {
    if (help.find("\n  --require ") == help.npos) continue;
    Words call = words_of(verb);
    if (verb == "assay check" || verb == "assay adopt") call.push_back("safe_block/f32@host");
    call.insert(call.end(), {"--require", "tpu"});
    const bool judges = verb == "assay check" || verb == "assay adopt";
    const std::string inputs =
        ", host or the inputs that the kernel must take, as 'V=1..4096; rows=1..65536'";
    EXPECT_EQ(refused(call), "assay: --require tpu: must be cuda" + (judges ? inputs : " or host") + "\n")
        << verb;
    if (!judges) continue;
    for (const char* bad : {"V=0", "V=4..1", "W=1", "V=1;V=2", "cuda;host", "max_abs=big"}) {
      call.back() = bad;
      const std::string said = refused(call);
      EXPECT_TRUE(said.starts_with("assay: --require")) << said;
    }
  }
}

TEST(Help, AVeryLongWordIsCutShortInAMessage) {
  const std::string key(100000, 'k');
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"check", key}, {"report", "--key", key}, {key}, {"check", "--" + key}}) {
    const std::string said = refused(words);
    EXPECT_LT(said.size(), 1000u) << said.substr(0, 200);
    EXPECT_NE(said.find("kkk... (10000"), said.npos) << said;
  }
}

// Files that were damaged: one line in plain words that names the file, and exit status 2.

TEST(BadFiles, AreRefusedInOnePlainLine) {
  const TestFolder own;
  const std::string file = (own.path() / "file.json").string(), out = (own.path() / "out").string();
  std::filesystem::create_directories(own.path() / "inputs");
  const std::string manifest = (own.path() / "inputs/manifest.json").string();
  const std::vector<std::vector<std::string>> commands = {
      {"report", "--key", "online_warp/f16@host", "--family", "normal_1", "--V", "33", "--compare", file},
      {"report", "--key", "online_warp/f16@host", "--family", "normal_1", "--V", "33", "--functions", file},
      {"report", "--key", "online_warp/f16@host", "--family", "normal_1", "--V", "33", "--oracle-speed",
       file},
      {"replay", file},
      {"sweep", "--compare", file, "--new", file},
      {"grade", (own.path() / "inputs").string()}};
  const std::string texts[] = {
      "",
      "{",
      "[1,2\n",
      "\xff\xfe\x01",
      "null\n",
      "3\n",
      "[]\n",
      "{\"key\": 3}\n",
      "{\"key\":\"a/f32@host\",\"V\":\"x\"}\n",
      "{\"assay_case\": 1, \"genome\": {}}\n",
      "{\"format\": [], \"family\": {}, \"functions\": 3, \"environment\": 1e999}\n"};
  for (const std::string& text : texts) {
    std::ofstream(file, std::ios::binary) << text;
    std::ofstream(manifest, std::ios::binary) << text;
    for (std::vector<std::string> words : commands) {
      // A sweep's last line may be torn: that is a run that was killed, and no damage.
      if (words[0] == "sweep" && !text.ends_with('\n')) continue;
      if (words[0] == "report") words.insert(words.end(), {"--out", out});
      const auto o = command_test::call_words(words);
      EXPECT_EQ(o.status, kBadCall) << words[0] << " " << words.back() << ": " << text;
      EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
      EXPECT_EQ(o.err.find("json.exception"), std::string::npos) << o.err;
      EXPECT_NE(o.err.find(own.path().string()), std::string::npos) << words[0] << ": " << o.err;
    }
  }
}

// Every command draws any family that `assay list --families` lists, if --family names it.

namespace fs = std::filesystem;

/// What a call prints. Its status must be 0.
std::string printed(const std::string& line) {
  const command_test::Outcome o = command_test::call(line);
  EXPECT_EQ(o.status, kPassed) << line << "\n" << o.err;
  return o.out;
}

/// " --family NAME" for each family that only one group of `assay check` tries by itself.
std::string of_one_group() {
  std::string words;
  for (const Family& f : all_families())
    if (f.group) words += std::string(" --family ") + f.name;
  return words;
}

TEST(FamilyOption, EveryFamilyIsListedWithWhoTriesItAndWhy) {
  const std::string list = "\n" + printed("assay list --families");
  for (const Family& f : all_families()) {
    const std::size_t at = list.find("\n" + std::string(f.name) + " ");
    ASSERT_NE(at, list.npos) << f.name;
    const std::string line = list.substr(at + 1, list.find('\n', at + 1) - at - 1);
    EXPECT_NE(line.find(f.why), line.npos) << line;
    EXPECT_NE(line.find(f.group ? "check (" + std::string(f.group) + ")" : "every command"), line.npos)
        << line;
  }
  EXPECT_NE(list.find("\nprobe "), list.npos);
}

TEST(FamilyOption, ReportInputsAndSweepDrawWhatOneGroupOfCheckTries) {
  ASSERT_NE(of_one_group(), "");
  const TestFolder own;
  const fs::path& folder = own.path();
  printed("assay report --key safe_block/f32@host --V 33" + of_one_group() + " --out " +
          (folder / "report").string());
  const std::string records = read_file(folder / "report/records.jsonl");
  printed("assay inputs --V 33" + of_one_group() + " --out " + (folder / "inputs").string());
  for (const Family& f : all_families()) {
    EXPECT_EQ(records.find("\"family\":\"" + std::string(f.name) + "\"") != records.npos, f.group != nullptr)
        << f.name;
    EXPECT_EQ(fs::exists(folder / "inputs" / (std::string(f.name) + "_V33.npy")), f.group != nullptr)
        << f.name;
    if (f.group)
      printed("assay sweep launch --key online_block/f32@host --V 33 --rows 2 --family " +
              std::string(f.name));
  }
}

}  // namespace
}  // namespace assay
