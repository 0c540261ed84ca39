// SPDX-License-Identifier: Apache-2.0
// Declarations of launchers and what is read from them, in .entries files:
//
//   $ DECLARATION --arg n=V --op top_p --types f16 --causal
//                        a declaration (\n ends a line of it), and what a command says of it
//   => in out rows V     the roles of its parameters
//   =! TEXT              it is refused in one line that holds the text (holds, in case_file_test.hpp)
//   is limits TEXT       something else that is read from it: see facts_of
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>

#include "kernels/adapter/case_file_test.hpp"
#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/entry/call_source.hpp"
#include "kernels/adapter/entry/signature.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

using cases::Case;
using Facts = std::map<std::string, std::string>;

Facts facts_of(const std::string& line) {
  const std::size_t end = std::min(line.find(" --"), line.size());
  const std::string text = cases::replaced(line.substr(0, end), "\\n", "\n");
  std::vector<EntryArgument> arguments;
  std::optional<Op> op;
  std::optional<Dtype> dtype;
  bool causal = false;
  const std::vector<std::string> words = cases::words_of(line.substr(end));
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == "--causal")
      causal = true;
    else if (i + 1 == words.size())
      ADD_FAILURE() << words[i] << " has no value";
    else if (words[i] == "--arg")
      arguments.push_back(parse_entry_argument(words[++i]));
    else if (words[i] == "--op")
      op = parse_op(words[++i]);
    else if (words[i] == "--types")
      dtype = parse_dtype(words[++i]);
    else
      ADD_FAILURE() << words[i];
  Facts facts;
  try {
    facts["template"] = entry_is_template(text) ? "yes" : "no";
    const EntrySignature s = parse_entry(text, arguments, op, dtype, causal);
    std::string roles, offsets;
    for (const Parameter& p : s.parameters) {
      roles += (roles.empty() ? "" : " ") + (p.role == Role::literal ? p.literal : std::string(name(p.role)));
      if (p.role == Role::workspace) offsets += "[" + p.offset + "]";
      if (p.role == Role::rows) facts["rows"] = p.name;
    }
    std::string limits;
    for (const auto& [word, value] : s.limits()) limits += (limits.empty() ? "" : "; ") + word + "=" + value;
    constexpr const char* kReturned[] = {"nothing", "a status", "success"};
    facts.insert({{"roles", roles},
                  {"function", s.function},
                  {"returned", kReturned[static_cast<int>(s.returned)]},
                  {"op", name(s.op)},
                  {"in", name(s.in)},
                  {"out", name(s.out)},
                  {"limits", limits},
                  {"operands", text_of(s.operands())},
                  {"workspace", s.workspace_bytes},
                  {"offsets", offsets},
                  {"one_row", s.one_row ? "yes" : "no"},
                  {"k", std::to_string(s.fixed_k)}});
  } catch (const InputError& e) {
    facts["refusal"] = e.what();
  }
  return facts;
}

/// Holds what was read against a line.
void expect(Facts& facts, const cases::Line& l) {
  const auto equal = [&](const std::string& fact, const std::string& value) {
    const auto found = facts.find(fact);
    EXPECT_EQ(found == facts.end() ? "no " + fact + "; " + facts["refusal"] : found->second, value);
  };
  if (l.mark == "=>") {
    equal("roles", l.text);
  } else if (l.mark == "is") {
    const std::size_t blank = std::min(l.text.find(' '), l.text.size());
    equal(l.text.substr(0, blank), l.text.substr(std::min(blank + 1, l.text.size())));
  } else if (l.mark == "=!") {
    const std::string said = facts.contains("refusal") ? facts["refusal"] : "accepted: " + facts["roles"];
    EXPECT_TRUE(facts.contains("refusal") && cases::holds(said, l.text)) << said;
    EXPECT_EQ(said.find('\n'), said.npos) << said;
  } else {
    ADD_FAILURE() << "no such mark";
  }
}

void run_entries(const Case& c) {
  Facts facts;
  int asked = 1;
  for (const cases::Line& l : c.lines) {
    const testing::ScopedTrace where(c.file.c_str(), l.number, l.mark + " " + l.text);
    if (l.mark != "$") {
      expect(facts, l);
      ++asked;
      continue;
    }
    EXPECT_GT(asked, 0) << "nothing is asked about the declaration before";
    asked = 0;
    facts = facts_of(l.text);
  }
  EXPECT_GT(asked, 0) << "nothing is asked about the last declaration of " << c.name;
  EXPECT_FALSE(facts.empty()) << c.name << " has no declaration";
}

const bool kRegistered = cases::register_cases(".entries", run_entries);

TEST(EntryCases, EveryMarkCanFail) {
  const std::string plain = "$ void f(const float* in, float* out, int rows, int V)",
                    none = "$ void f(const float* in, float* out, int rows)";
  EXPECT_TRUE(cases::passes(run_entries, plain + " => in out rows V\nis op softmax\n"));
  EXPECT_TRUE(cases::passes(run_entries, none + " =! --arg NAME=V\n=! ^--entry: no parameter is\n"));
  for (const std::string& wrong :
       {plain, std::string(), std::string("=> in out\n"), plain + " => in out V rows\n", plain + "\n=> in\n",
        plain + " --arg 4=7 => in out rows V\n", plain + "\nis op topk\n", plain + "\nis weight 3\n",
        plain + " --op log_softmax\nis op softmax\n", plain + " --types\nis op softmax\n",
        plain + " --none x\nis op softmax\n", plain + " =! --arg\n", none + " => in out rows\n",
        none + " =! NAME=rows\n", none + "\n=! ^NAME=V\n", plain + " => in out rows V\n? x\n",
        plain + "\n" + plain + " => in out rows V\n", plain + " => in out rows V\n" + plain})
    EXPECT_FALSE(cases::passes(run_entries, wrong)) << wrong;
}

}  // namespace

// Any text is safe to read, and the adapter's text follows from the roles. What is read from declarations is
// in the .entries files.

namespace {

TEST(EntrySignature, TheCallIsWrittenFromTheRoles) {
  const EntrySignature s =
      parse_entry("bool f(const float* in, float* out, dim_t rows, int V, int n, float* tmp, float* more)",
                  {{"n", "rows*V"}, {"tmp", "workspace(4*V)"}, {"more", "workspace(rows)"}});
  const EntrySignature causal =
      parse_entry("void f(const float* x, float* y, int N, int T)", {}, {}, {}, true);
  const std::string text =
      adapter_source(AdapterFile(), {s}) + call_source({s}, "_x") + adapter_source(AdapterFile(), {causal});
  for (const char* part :
       {"return ::assay_adapter::status_of_success(returned != 0);", "{assay_own_integer_x{n[2], 2}}",
        "assay_number_x<int>(n[4], 4)",
        "::assay_adapter::value<int64_t, 5>(assay_arguments)*::assay_adapter::value<int64_t, 6>"
        "(assay_arguments)",
        "return static_cast<uint64_t>(((4*V) + 255) / 256 * 256 + (rows));", "n.one_row = false",
        "assay_arguments)/::assay_adapter::divisor("})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(EntrySignature, OperandsAreReadBack) { EXPECT_EQ(parse_operands("scale:bf16")->scale, Dtype::bf16); }

TEST(EntrySignature, SurvivesAnyText) {
  // Pieces of declarations in any order. Each text is either read or refused, and quickly.
  const std::vector<std::string> pieces = {
      "void", "float",   "*",   "const", "int", "(",   ")", ",",    "<",        ">",
      "::",   "in",      "out", "rows",  "V",   "T",   "=", "[",    "]",        "&",
      "\n",   "N=rows",  "\"",  "std",   "k",   "256", " ", "long", "unsigned", "cudaStream_t s",
      "\xff", "softmax", "{",   "}",     "[[",  "]]"};
  std::mt19937 random(1);
  const auto start = std::chrono::steady_clock::now();
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 ? "void f(const float* in, float* out, int rows, int V" : "";
    for (unsigned n = random() % 12; n > 0; --n)
      text += pieces[random() % pieces.size()] + (random() % 2 ? " " : "");
    if (i % 4 == 1) text += ")";
    read += fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  EXPECT_GT(read, 100);
  for (const char* piece : {"<", "(", "const ", "*", "::", "[", "x,"}) {
    std::string text = "void f(";
    while (text.size() < 1 << 20) text += piece;
    EXPECT_FALSE(fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    text.resize(4000);
    EXPECT_FALSE(fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace assay
