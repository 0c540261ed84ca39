// SPDX-License-Identifier: Apache-2.0
// --json and --junit: read back by parsers that this project did not write.
#include "reports/terminal/answer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/device.hpp"
#include "kernels/registry.hpp"
#include "reference/files/npy.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using boost::property_tree::ptree;

/// What a build server sees in a JUnit file.
struct JunitFile {
  int tests = 0, failures = 0, skipped = 0;              // as the root element says
  int found = 0, found_failures = 0, found_skipped = 0;  // as counted
  std::map<std::string, std::string> failed;             // "classname name" and the text
};

JunitFile read_junit(const std::string& xml) {
  std::istringstream in(xml);
  ptree tree;
  boost::property_tree::read_xml(in, tree);
  const ptree& root = tree.get_child("testsuites");
  JunitFile j;
  j.tests = root.get<int>("<xmlattr>.tests");
  j.failures = root.get<int>("<xmlattr>.failures");
  j.skipped = root.get<int>("<xmlattr>.skipped");
  for (const auto& [tag, suite] : root) {
    if (tag != "testsuite") continue;
    int of_suite = 0;
    for (const auto& [inner, one] : suite) {
      if (inner != "testcase") continue;
      ++j.found, ++of_suite;
      j.found_skipped += one.count("skipped") > 0;
      if (const auto failure = one.get_child_optional("failure")) {
        ++j.found_failures;
        j.failed[one.get<std::string>("<xmlattr>.classname") + " " + one.get<std::string>("<xmlattr>.name")] =
            failure->get<std::string>("<xmlattr>.message") + "\n" + failure->data();
      }
    }
    EXPECT_EQ(suite.get<int>("<xmlattr>.tests"), of_suite);
  }
  return j;
}

class AnswerOfCommands : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  /// Runs a command with --json and --junit, reads both, and checks that they say the same.
  void run(const std::string& line, int status) {
    const command_test::Outcome o =
        command_test::call("assay " + line + " --json --junit " + at("junit.xml") + " --out " + at("out"));
    EXPECT_EQ(o.status, status) << o.err;
    ASSERT_TRUE(nlohmann::json::accept(o.out)) << o.out;  // nothing else is on standard output
    json = nlohmann::json::parse(o.out);
    text = o.err;
    junit = read_junit(read_file(at("junit.xml")));
    EXPECT_EQ(json["format"], "assay verdict 1");
    EXPECT_EQ(json["command"], line.substr(0, line.find(' ')));
    EXPECT_EQ(json["exit_status"], status);
    EXPECT_FALSE(json["environment"]["assay"].get<std::string>().empty());
    for (const auto& file : json["files"]) EXPECT_TRUE(fs::exists(file.get<std::string>())) << file;
    EXPECT_EQ(junit.tests, junit.found);
    EXPECT_EQ(junit.failures, junit.found_failures);
    EXPECT_EQ(junit.skipped, junit.found_skipped);
    // The JUnit file has one more case: the verdict, which fails with the run.
    EXPECT_EQ(junit.failures, static_cast<int>(json["failures"].size()) + (status != kPassed));
    EXPECT_EQ(junit.failed.count("assay " + line.substr(0, line.find(' ')) + " verdict"), status != kPassed);
    int cases = 0;
    for (const auto& k : json["kernels"])
      cases += k["passed"].get<int>() + k["failed"].get<int>() + k["undecided"].get<int>() +
               k["skipped"].get<int>();
    EXPECT_EQ(junit.found, cases + 1);
    if (std::system("xmllint --version > /dev/null 2>&1") == 0) {
      EXPECT_EQ(std::system(("xmllint --noout " + at("junit.xml")).c_str()), 0);
    }
  }

  fs::path folder_ = testing::TempDir() + "answer." + std::to_string(getpid());
  nlohmann::json json;
  JunitFile junit;
  std::string text;
};

TEST_F(AnswerOfCommands, OfACheckThatPasses) {
  run("check safe_block/f32@host --quick --only shapes --V 33", kPassed);
  EXPECT_EQ(json["verdict"], "PASS");
  EXPECT_EQ(json["failures"].size(), 0u);
  ASSERT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["key"], "safe_block/f32@host");
  EXPECT_GT(json["counts"]["passed"].get<int>(), 0);
  EXPECT_EQ(json["counts"]["failed"], 0);
  EXPECT_NE(text.find("PASS safe_block/f32@host"), text.npos) << text;  // for people, on standard error
}

TEST_F(AnswerOfCommands, OfACheckThatFailsNamesTheCommandThatRepeatsIt) {
  run("check mutant.no_max/f32@host --quick --only shapes --V 33", kFailed);
  EXPECT_EQ(json["verdict"], "FAIL");
  ASSERT_GT(json["failures"].size(), 0u);
  const auto& first = json["failures"][0];
  EXPECT_TRUE(first["reproduce"].get<std::string>().starts_with("assay check mutant.no_max/f32@host "))
      << first;
  const std::string named = first["key"].get<std::string>() + " " + first["case"].get<std::string>();
  ASSERT_EQ(junit.failed.count(named), 1u) << named;
  EXPECT_NE(junit.failed[named].find(first["reproduce"].get<std::string>()), std::string::npos);
  EXPECT_NE(junit.failed[named].find(first["message"].get<std::string>()), std::string::npos);
}

TEST_F(AnswerOfCommands, OfAReport) {
  run("report --key safe_block/f32@host --family normal_1 --V 33", kPassed);
  EXPECT_EQ(json["counts"]["planned"], 1);
  EXPECT_EQ(junit.found, 2);
}

TEST_F(AnswerOfCommands, OfAnAdoptionAndItsVerification) {
  run("adopt safe_block/f32@host --quick --only batch --evaluations 32", kPassed);
  EXPECT_EQ(json["verdict"], "PASS");
  EXPECT_EQ(junit.skipped, 1);  // the sweep: no GPU is asked for
  fs::rename(at("out"), at("adopted"));
  run("verify " + at("adopted/certificate.json"), kPassed);
  EXPECT_EQ(json["verdict"], "PASS");
  EXPECT_GT(json["counts"]["replayed"].get<int>(), 0);
  EXPECT_EQ(json["counts"]["agreed"], json["counts"]["replayed"]);
  EXPECT_EQ(json["counts"]["differences"], 0);
  run("adopt mutant.no_max/f32@host --quick --only shapes --evaluations 32", kFailed);
  EXPECT_EQ(json["verdict"], "FAIL");
}

TEST_F(AnswerOfCommands, OfASearch) {
  run("fuzz safe_block/f32@host --evaluations 32 --jobs 1 --in-process", kPassed);
  EXPECT_EQ(json["verdict"], "PASS");
  EXPECT_EQ(json["counts"]["inputs"], 32);
  EXPECT_EQ(json["counts"]["findings"], 0);
  ASSERT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["passed"], 1);
  EXPECT_NE(text.find("PASS: 1 candidate searched, nothing found"), text.npos) << text;
  run("fuzz safe_block/f32@host mutant.max_from_zero/f32@host --evaluations 64 --jobs 1 --in-process",
      kFailed);
  EXPECT_EQ(json["verdict"], "FAIL");
  EXPECT_EQ(json["counts"]["candidates"], 2);
  const std::size_t found = json["counts"]["findings"];
  ASSERT_GT(found, 0u);
  ASSERT_EQ(json["failures"].size(), found);
  for (const auto& f : json["failures"]) {
    EXPECT_EQ(f["key"], "mutant.max_from_zero/f32@host");
    EXPECT_TRUE(f["reproduce"].get<std::string>().starts_with("assay replay " + at("out"))) << f;
    const std::string named = f["key"].get<std::string>() + " " + f["case"].get<std::string>();
    EXPECT_NE(junit.failed[named].find(f["reproduce"].get<std::string>()), std::string::npos) << named;
  }
  // What several searches found.
  fs::rename(at("out"), at("found"));
  run("fuzz --merge " + at("found"), kFailed);
  EXPECT_EQ(json["counts"]["findings"], found);
  EXPECT_EQ(json["failures"].size(), found);
}

TEST_F(AnswerOfCommands, OfASearchThatCannotBegin) {
  run("fuzz backward_block/f32@host --evaluations 32 --jobs 1 --in-process", kEnvironment);
  EXPECT_EQ(json["verdict"], "NOT RUN");
  EXPECT_EQ(junit.skipped, 1);
  EXPECT_EQ(json["failures"].size(), 0u);
}

TEST_F(AnswerOfCommands, OfASelftest) {
  run("selftest --key no_max --quick", kPassed);
  EXPECT_GT(json["counts"]["killed"].get<int>(), 0);
  EXPECT_EQ(json["counts"]["survived"], 0);
}

TEST_F(AnswerOfCommands, OfFunctions) {
  run("functions --function hexp --stride 99991 --threads 1", kPassed);
  EXPECT_EQ(json["verdict"], "PASS");
  EXPECT_GE(json["counts"]["passed"].get<int>(), 2);  // f16 and bf16 on the host
  EXPECT_EQ(json["counts"]["not_run"], junit.skipped);
  EXPECT_TRUE(json["reason"].get<std::string>().ends_with(" not run") || junit.skipped == 0)
      << json["reason"];
  EXPECT_EQ(std::count_if(json["kernels"].begin(), json["kernels"].end(),
                          [](const auto& k) { return k["key"] == "hexp/f16@host" && k["passed"] == 1; }),
            1)
      << json["kernels"];
  EXPECT_NE(text.find("PASS: "), text.npos) << text;
}

TEST_F(AnswerOfCommands, OfFunctionsWithoutAGpu) {
  const bool keys = std::any_of(registry().begin(), registry().end(),
                                [](const Variant& v) { return v.backend == Backend::cuda; });
  if (!keys || unavailable_reason(Backend::cuda).empty())
    GTEST_SKIP() << "only where a build has keys for a GPU that is not there";
  // A machine that lacks something has no wrong functions.
  run("functions --backend cuda", kEnvironment);
  EXPECT_EQ(json["verdict"], "NOT RUN");
  EXPECT_NE(text.find("NOT RUN: nothing ran"), text.npos) << text;
}

TEST_F(AnswerOfCommands, OfASearchForTheLargestShares) {
  run("utilisation --key online_block/f32@host --key backward_block/f32@host --V 33 --evaluations 8",
      kPassed);
  EXPECT_EQ(json["counts"]["planned"], 2);
  EXPECT_EQ(json["counts"]["run"], 1);
  EXPECT_EQ(junit.skipped, 1);  // a backward pass is not searched
  run("utilisation --key backward_block/f32@host --V 33 --evaluations 8", kFailed);
  EXPECT_EQ(json["reason"], "no selected key can be searched here");
}

TEST_F(AnswerOfCommands, OfASweepAndItsComparison) {
  run("sweep --host --key online_block/f32@host --V 63 --V 65 --rows 3", kPassed);
  EXPECT_EQ(json["counts"]["planned"], 2);
  EXPECT_EQ(json["counts"]["measured"], 2);
  EXPECT_EQ(json["kernels"][0]["passed"], 2);
  fs::rename(at("out/sweep.jsonl"), at("before.jsonl"));
  // Twice the time, which no two runs need show.
  std::istringstream before(read_file(at("before.jsonl")));
  std::string after;
  for (std::string line; std::getline(before, line);) {
    nlohmann::json one = nlohmann::json::parse(line);
    if (one.contains("times_us"))
      for (auto& time : one["times_us"]) time = 2 * time.get<double>();
    after += one.dump() + "\n";
  }
  std::ofstream(at("after.jsonl")) << after;
  run("sweep --compare " + at("before.jsonl") + " --new " + at("after.jsonl"), kFailed);
  EXPECT_EQ(json["counts"]["slower"], 2) << json;
  EXPECT_EQ(json["failures"][0]["key"], "online_block/f32@host");
  EXPECT_NE(json["failures"][0]["message"].get<std::string>().find("slower: "), std::string::npos);
  run("sweep --compare " + at("before.jsonl") + " --new " + at("before.jsonl"), kPassed);
}

TEST_F(AnswerOfCommands, OfASweepWithoutAGpu) {
  const bool keys = std::any_of(registry().begin(), registry().end(),
                                [](const Variant& v) { return v.backend == Backend::cuda; });
  if (!keys || unavailable_reason(Backend::cuda).empty())
    GTEST_SKIP() << "only where a build has keys for a GPU that is not there";
  run("sweep --quick", kEnvironment);
  EXPECT_EQ(json["verdict"], "NOT RUN");
  EXPECT_EQ(json["counts"]["not_run"], json["counts"]["planned"]);
}

TEST_F(AnswerOfCommands, OfPartsPutTogether) {
  const std::string line = "assay report --key safe_block/f32@host --family normal_1 --V 33 --V 65 --out " +
                           at("parts") + " --shard ";
  run("report --key safe_block/f32@host --family normal_1 --V 33 --V 65 --shard 0/2", kPassed);
  EXPECT_EQ(json["part"], "part 0 of 2");
  EXPECT_TRUE(json["reason"].get<std::string>().starts_with("part 0 of 2: all planned cases ran"))
      << json["reason"];
  EXPECT_NE(read_file(at("junit.xml")).find("part 0 of 2"), std::string::npos);
  ASSERT_EQ(command_test::call(line + "0/2").status, kPassed);
  run("merge " + at("parts"), kEnvironment);
  EXPECT_EQ(json["verdict"], "INCOMPLETE");
  EXPECT_EQ(json["counts"]["missing"], 1);
  ASSERT_EQ(command_test::call(line + "1/2").status, kPassed);
  run("merge " + at("parts"), kPassed);
  EXPECT_EQ(json["counts"]["shards"], 2);
  EXPECT_EQ(json["counts"]["records"], 2);
  EXPECT_FALSE(json.contains("part"));
  EXPECT_EQ(json["kernels"][0]["key"], "assay report");
}

TEST_F(AnswerOfCommands, OfACaseThatIsReplayed) {
  ASSERT_EQ(
      command_test::call("assay fuzz mutant.max_from_zero/f32@host --evaluations 64 --jobs 1 --in-process "
                         "--out " +
                         at("fuzz"))
          .status,
      kFailed);
  std::string found;
  for (const auto& entry : fs::directory_iterator(at("fuzz")))
    if (entry.path().extension() == ".json") found = entry.path().string();
  ASSERT_FALSE(found.empty());
  const auto replay = [&](const std::string& kernel, int status) {
    const command_test::Outcome o = command_test::call("assay replay " + found + " " + kernel +
                                                       " --quiet --json --junit " + at("junit.xml"));
    EXPECT_EQ(o.status, status) << o.err;
    json = nlohmann::json::parse(o.out);
    junit = read_junit(read_file(at("junit.xml")));
    EXPECT_EQ(json["command"], "replay");
    EXPECT_EQ(json["exit_status"], status);
    EXPECT_EQ(junit.found, 2);
  };
  replay("", kFailed);
  EXPECT_EQ(json["verdict"], "FAIL");
  EXPECT_EQ(json["failures"][0]["key"], "mutant.max_from_zero/f32@host");
  EXPECT_TRUE(json["failures"][0]["reproduce"].get<std::string>().starts_with("assay replay " + found));
  replay("safe_block/f32@host", kPassed);
  EXPECT_EQ(json["verdict"], "PASS");
}

TEST_F(AnswerOfCommands, ACallThatOnlyListsHasNone) {
  for (const char* call : {"functions --list", "selftest --list", "sweep --host --plan"})
    for (const std::string& option : {std::string(" --json"), " --junit " + at("junit.xml")}) {
      const command_test::Outcome o = command_test::call(std::string("assay ") + call + option);
      EXPECT_EQ(o.status, kBadCall) << call;
      EXPECT_EQ(o.out, "") << call;
      EXPECT_NE(o.err.find(": only lists, and has no verdict"), o.err.npos) << o.err;
    }
}

TEST_F(AnswerOfCommands, OfOutputsThatAreMissingOrWrong) {
  Tensor x(Dtype::f32, 2, 33);
  write_npy(at("x.npy"), x);
  write_npy(at("y.npy"), x);  // zeros are no softmax
  run("grade --logits " + at("x.npy") + " --probs " + at("y.npy"), kFailed);
  EXPECT_EQ(json["failures"][0]["key"], "outputs/f32@plugin");
  ASSERT_EQ(command_test::call("assay inputs --family normal_1 --V 33 --rows 1 --out " + at("in")).status,
            kPassed);
  run("grade " + at("in"), kFailed);
  EXPECT_EQ(junit.skipped, 1);  // the case did not run, and the verdict fails for it
}

TEST_F(AnswerOfCommands, AnOldFileIsNotLeftBesideACallThatEndsEarly) {
  std::ofstream(at("junit.xml")) << "<testsuites/>";
  const command_test::Outcome o =
      command_test::call("assay check safe_blok/f32@host --junit " + at("junit.xml") + " --out " + at("out"));
  EXPECT_EQ(o.status, kBadCall);
  EXPECT_FALSE(fs::exists(at("junit.xml")));
  const std::string nowhere = at("none/junit.xml");
  EXPECT_EQ(command_test::call("assay check safe_block/f32@host --junit " + nowhere).err,
            "assay: --junit " + nowhere + ": no such folder: " + at("none") + "\n");
}

TEST_F(AnswerOfCommands, AFileOfAnotherKindStaysAsItIs) {
  std::ofstream(at("kernel.cu")) << "the only copy";
  const command_test::Outcome o =
      command_test::call("assay check safe_block/f32@host --quick --junit " + at("kernel.cu"));
  EXPECT_EQ(o.status, kBadCall);
  EXPECT_EQ(o.err,
            "assay: --junit " + at("kernel.cu") + ": is a file of another kind, which stays as it is\n");
  EXPECT_EQ(read_file(at("kernel.cu")), "the only copy");
  EXPECT_EQ(command_test::call("assay check safe_block/f32@host --junit /dev/null").status, kBadCall);
  for (const char* const both : {"--sandbox --no-sandbox", "--no-sandbox --sandbox"})
    EXPECT_EQ(command_test::call(std::string("assay check safe_block/f32@host ") + both).err,
              "assay: --sandbox and --no-sandbox: give only one of them\n");
}

TEST(VerdictDocument, TextOfAnyKindIsValidInBothForms) {
  VerdictDocument d;
  d.command = "check";
  d.verdict = "FAIL";
  d.exit_status = 1;
  VerdictCase c{.suite = "a<b>&\"'", .name = "]]> \x01\x1b[31m"};
  c.outcome = CaseOutcome::failed;
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
  EXPECT_EQ(d.cases[0].outcome, CaseOutcome::failed);
  EXPECT_EQ(d.cases[0].records, 3);
  EXPECT_EQ(d.cases[0].bad, 2);
  EXPECT_EQ(d.cases[0].message, "hung: no end");
  EXPECT_EQ(d.cases[0].reproduce, "assay check a/f32@host --V 7");
}

}  // namespace
}  // namespace assay
