// SPDX-License-Identifier: Apache-2.0
// Completion as bash does it, and the manual page.
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "kernels/isolation/process/process.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/help/answer_test.hpp"
#include "reports/cli/help/command_texts.hpp"
#include "reports/data/files.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Completion : public command_test::FolderTest {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "some_folder");
    write_files({{folder_ / "kernel.cu", ""},
                 {folder_ / "complete.sh", command_test::call("assay completion bash").out}});
    fs::create_symlink(isolation::worker_executable(""), folder_ / "assay");
  }

  /// What bash offers after this line, such as "assay che".
  std::set<std::string> after(const std::string& line) const {
    const std::string script =
        "cd " + folder_.string() + " && source ./complete.sh && PATH=$PWD:$PATH && COMP_LINE='" + line +
        "' && COMP_POINT=${#COMP_LINE} && _assay && printf '%s\\n' \"${COMPREPLY[@]}\"";
    write_files({{folder_ / "ask.sh", script}});
    EXPECT_EQ(
        std::system(("bash --norc " + (folder_ / "ask.sh").string() + " > " + (folder_ / "offered").string())
                        .c_str()),
        0);
    std::istringstream text(read_file(folder_ / "offered"));
    std::set<std::string> all;
    for (std::string one; std::getline(text, one);)
      if (!one.empty()) all.insert(one);
    return all;
  }

  const fs::path folder_ = own_.path();
};

using Offered = std::set<std::string>;

TEST_F(Completion, OfCommands) {
  EXPECT_EQ(after("assay che"), Offered{"check"});
  EXPECT_EQ(after("assay sweep o"), Offered{"oracle"});
  EXPECT_TRUE(after("assay ").contains("fuzz"));
}

TEST_F(Completion, OfOptions) {
  EXPECT_EQ(after("assay report --fam"), Offered{"--family"});
  EXPECT_EQ(after("assay check safe_block/f32@host --dec"), Offered{"--declare"});
  EXPECT_EQ(after("assay check --ent"), Offered{"--entry"});
  EXPECT_EQ(after("assay sweep launch --lau"), Offered{"--launches"});
  EXPECT_EQ(after("assay list --fuzz"), Offered{});
}

TEST_F(Completion, OfValues) {
  const Offered keys = after("assay report --key safe_block/f3");
  EXPECT_TRUE(keys.contains("safe_block/f32@host"));
  for (const std::string& key : keys) EXPECT_TRUE(key.starts_with("safe_block/f32@")) << key;
  EXPECT_TRUE(after("assay check safe_block/bf1").contains("safe_block/bf16@host"));
  // bash takes @ for the end of a word, and sets in only what stands behind it.
  EXPECT_TRUE(after("assay check safe_block/f32@ho").contains("host"));
  EXPECT_EQ(after("assay report --family gpt_"), Offered{"gpt_logits"});
  EXPECT_EQ(after("assay check x --only ha"), Offered{});
  EXPECT_EQ(after("assay check x --only sha"), Offered{"shapes"});
  EXPECT_EQ(after("assay selftest --key no_max_n"), Offered{"no_max_near"});
  EXPECT_EQ(after("assay report --dtype b"), Offered{"bf16"});
  EXPECT_EQ(after("assay check kern"), Offered{"kernel.cu"});
  EXPECT_EQ(after("assay grade some"), Offered{"some_folder"});
  EXPECT_EQ(after("assay report --seed "), Offered{});
}

std::vector<CommandText> every_command() {
  static CLI::App app;
  static int status = 0;
  static const bool made = [] { return add_commands(app, status), true; }();
  return made ? command_texts(app) : std::vector<CommandText>();
}

TEST(CompletionOfZsh, HasEveryCommandAndOption) {
  const std::string script = command_test::call("assay completion zsh").out;
  EXPECT_TRUE(script.starts_with("#compdef assay\n"));
  for (const CommandText& c : every_command()) {
    EXPECT_NE(script.find("'" + c.path + "'"), script.npos) << c.path;
    for (const OptionText& o : c.options)
      if (!o.positional) {
        EXPECT_NE(script.find("'" + o.name + ":"), script.npos) << c.path << " " << o.name;
      }
  }
  if (std::system("zsh --version > /dev/null 2>&1") != 0) return;
  const fs::path file = testing::TempDir() + "completion_zsh." + std::to_string(getpid());
  write_files({{file, script}});
  EXPECT_EQ(std::system(("zsh -n " + file.string()).c_str()), 0);
  fs::remove(file);
}

TEST(ManualPage, HasEveryCommandAndOption) {
  const std::string page = command_test::call("assay completion man").out;
  const auto has = [&](std::string text) {
    for (std::size_t i = text.find('-'); i != text.npos; i = text.find('-', i + 2)) text.insert(i, "\\");
    return page.find(text) != page.npos;
  };
  for (const CommandText& c : every_command()) {
    EXPECT_TRUE(has(c.path.empty() ? ".SH NAME" : ".SS assay " + c.path)) << c.path;
    for (const OptionText& o : c.options)
      if (o.name != "--help") {
        EXPECT_TRUE(has("\\fB" + o.name + "\\fR")) << c.path << " " << o.name;
      }
  }
  // No line is a request by mistake.
  std::istringstream in(page);
  const std::set<std::string> known = {".TH", ".SH", ".SS", ".TP", ".PP", ".nf", ".fi"};
  for (std::string line; std::getline(in, line);) {
    EXPECT_NE(line[0], '\'') << line;
    if (line[0] == '.') {
      EXPECT_TRUE(known.contains(line.substr(0, 3))) << line;
    }
  }
}

// The schemas of records.jsonl and certificate.json: real records and certificates obey them, and the file in
// the repository is what the fields of records make.

namespace fs = std::filesystem;
using nlohmann::json;

/// What is wrong with a value by a schema; empty if nothing is. Knows the words that records_schema uses, and
/// fails for any other.
std::string fault(const json& schema, const json& value, const std::string& at = "record") {
  for (const auto& [word, rest] : schema.items()) {
    if (word == "$schema" || word == "title" || word == "description") continue;
    if (word == "type") {
      const bool right = rest == "object"    ? value.is_object()
                         : rest == "array"   ? value.is_array()
                         : rest == "string"  ? value.is_string()
                         : rest == "boolean" ? value.is_boolean()
                         : rest == "null"    ? value.is_null()
                         : rest == "integer" ? value.is_number_integer()
                         : rest == "number"  ? value.is_number()
                                             : false;
      if (!right) return at + ": is no " + rest.get<std::string>();
    } else if (word == "enum") {
      if (std::find(rest.begin(), rest.end(), value) == rest.end()) return at + ": is none of the words";
    } else if (word == "const") {
      if (value != rest) return at + ": is not " + rest.dump();
    } else if (word == "minimum") {
      if (value < rest) return at + ": is below the minimum";
    } else if (word == "anyOf") {
      if (std::none_of(rest.begin(), rest.end(), [&](const json& s) { return fault(s, value, at).empty(); }))
        return at + ": is none of several";
    } else if (word == "required") {
      for (const auto& name : rest)
        if (!value.contains(name)) return at + ": lacks " + name.get<std::string>();
    } else if (word == "properties") {
      for (const auto& [name, inner] : value.items())
        if (rest.contains(name))
          if (std::string f = fault(rest[name], inner, at + "." + name); !f.empty()) return f;
    } else if (word == "additionalProperties") {
      for (const auto& [name, inner] : value.items()) {
        if (schema.contains("properties") && schema["properties"].contains(name)) continue;
        if (rest == false) return at + ": has " + name;
        if (std::string f = fault(rest, inner, at + "." + name); !f.empty()) return f;
      }
    } else if (word == "propertyNames") {
      for (const auto& [name, inner] : value.items())
        if (std::string f = fault(rest, name, at + "." + name); !f.empty()) return f;
    } else if (word == "items") {
      for (const auto& one : value)
        if (std::string f = fault(rest, one, at + "[]"); !f.empty()) return f;
    } else if (word == "minItems" || word == "maxItems") {
      if (word == "minItems" ? value.size() < rest : value.size() > rest) return at + ": has another length";
    } else {
      return at + ": the schema has the word " + word;
    }
  }
  return {};
}

fs::path schema_file() { return fs::path(ASSAY_SOURCE_DIR) / "reports/data/records.schema.json"; }

TEST(RecordsSchema, TheFileIsWhatTheFieldsMake) {
  if (!fs::exists(ASSAY_SOURCE_DIR)) GTEST_SKIP() << "no source tree beside this binary";
  const command_test::Outcome o = command_test::call("assay schema");
  EXPECT_EQ(o.status, kPassed);
  EXPECT_EQ(o.out, read_file(schema_file()))
      << "a field of a record has changed: assay schema > reports/data/records.schema.json";
}

class RecordsOfRuns : public command_test::FolderTest {
 protected:
  std::vector<json> run(const std::string& line) {
    command_test::call("assay " + line + " --out " + folder_.string());
    std::istringstream text(read_file(folder_ / "records.jsonl"));
    std::vector<json> all;
    for (std::string one; std::getline(text, one);) all.push_back(json::parse(one));
    return all;
  }
  const fs::path folder_ = own_.path();
};

TEST_F(RecordsOfRuns, ObeyTheSchema) {
  const json schema = records_schema();
  std::size_t seen = 0;
  for (const char* line : {"report --key safe_block/f32@host --key online_topk_block/f16@host --V 33 --V 0",
                           "report --key online_block/f32@host --family probe",
                           "check mutant.no_max/f32@host --quick --only shapes --V 33",
                           "check safe_block/bf16@host --quick --only repeat --only layout"}) {
    const std::vector<json> all = run(line);
    ASSERT_FALSE(all.empty()) << line;
    for (const json& r : all) ASSERT_EQ(fault(schema, r), "") << r.dump();
    EXPECT_TRUE(all[0].contains("run")) << line;
    seen += all.size();
  }
  EXPECT_GT(seen, 100u);
}

TEST_F(RecordsOfRuns, CertificatesObeyTheirSchema) {
  const json schema = json::parse(command_test::call("assay schema --certificate").out);
  json last;
  for (const char* kernel : {"safe_block/f32@host", "mutant.no_max/f32@host"}) {
    command_test::call(std::string("assay adopt ") + kernel +
                       " --quick --only batch --only shapes --evaluations 32 --out " + folder_.string());
    last = json::parse(read_file(folder_ / "certificate.json"));
    ASSERT_EQ(fault(schema, last, "certificate"), "") << kernel;
  }
  last.erase("verdict");
  EXPECT_EQ(fault(schema, last, "certificate"), "certificate: lacks verdict");
}

TEST_F(RecordsOfRuns, AnotherRecordIsRefusedBySchema) {
  const json schema = records_schema(),
             good = run("report --key safe_block/f32@host --family normal_1 --V 33")[0];
  ASSERT_EQ(fault(schema, good), "");
  const auto changed = [&](auto change) {
    json bad = good;
    change(bad);
    return fault(schema, bad);
  };
  EXPECT_EQ(changed([](json& j) { j.erase("status"); }), "record: lacks status");
  EXPECT_EQ(changed([](json& j) { j["status"] = "passed"; }), "record.status: is none of the words");
  EXPECT_EQ(changed([](json& j) { j["V"] = "33"; }), "record.V: is no integer");
  EXPECT_EQ(changed([](json& j) { j["seed"] = -1; }), "record.seed: is below the minimum");
  EXPECT_EQ(changed([](json& j) { j["extra"] = 1; }), "record: has extra");
  EXPECT_EQ(changed([](json& j) { j["run"].erase("commit"); }), "record.run: lacks commit");
  EXPECT_EQ(changed([](json& j) { j["run"]["version"] = kRecordsVersion + 1; }),
            "record.run.version: is not " + std::to_string(kRecordsVersion));
  EXPECT_EQ(changed([](json& j) { j.erase("run"); }), "") << "older files have no run";
  EXPECT_EQ(changed([](json& j) { j["max_ulp"] = "big"; }), "record.max_ulp: is none of several");
  EXPECT_EQ(changed([](json& j) { j["checks"]["elements"] = j["checks"]["element"]; }),
            "record.checks.elements: is none of the words");
}

// --json and --junit: what is written from a document. The answers of commands are in answers.calls.

using answer_test::JunitFile;
using answer_test::read_junit;

TEST(VerdictDocument, TextOfAnyKindIsValidInBothForms) {
  VerdictDocument d;
  d.command = "check";
  d.verdict = "FAIL";
  d.exit_status = 1;
  VerdictCase c{.suite = "a<b>&\"'", .name = "]]> \x01\x1b[31m"};
  c.outcome = Status::fail;
  c.message = "\xff\xfe no UTF-8, \xef\xbf\xbf no XML, \xe2\x82\xac is";
  d.cases = {c};
  EXPECT_EQ(render_junit(d).find("\xef\xbf\xbf"), std::string::npos) << "XML has no U+FFFF";
  JunitFile j = read_junit(render_junit(d));
  EXPECT_EQ(j.found, 2);
  ASSERT_EQ(j.failed.count("a<b>&\"' ]]> ??[31m"), 1u) << render_junit(d);
  EXPECT_NE(j.failed["a<b>&\"' ]]> ??[31m"].find("\xe2\x82\xac is"), std::string::npos);
  EXPECT_TRUE(nlohmann::json::accept(render_verdict_json(d)));
}

TEST(VerdictDocument, AGroupThatFailsInOneRecordFails) {
  ReportData data;
  Record r;
  r.key = "a/f32@host", r.group = "shapes", r.family = "normal_1", r.status = Status::pass;
  data.records = {r, r, r};
  data.records[1].status = Status::hung;
  data.records[1].reason = "no end";
  data.records[1].reproduce = "assay check a/f32@host --V 7";
  data.records[2].status = Status::inconclusive;
  const VerdictDocument d = verdict_document("check", data, 1);
  ASSERT_EQ(d.cases.size(), 1u);
  EXPECT_EQ(d.cases[0].outcome, Status::hung);
  EXPECT_EQ(d.cases[0].records, 3);
  EXPECT_EQ(d.cases[0].bad, 2);
  EXPECT_EQ(d.cases[0].message, "hung: no end");
  EXPECT_EQ(d.cases[0].reproduce, "assay check a/f32@host --V 7");
}

}  // namespace
}  // namespace assay
