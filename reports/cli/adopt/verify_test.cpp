// SPDX-License-Identifier: Apache-2.0
// What assay verify compares beside the cases that it replays: the certificate with itself and with the data
// beside it, and where it finds the kernel's file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/hash/sha256.hpp"
#include "reports/adopt/consistent.hpp"
#include "reports/cli/adopt/adopt_test.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;
using Verify = command_test::AdoptTest;
using Change = std::function<void(nlohmann::json&)>;

/// One measured shape of a kernel.
nlohmann::json speed_of(const std::string& key) {
  return {{"key", key}, {"verified", "pass"}, {"rows", 1},       {"V", 1},
          {"k", 0},     {"median_us", 1.0},   {"gb_per_s", 1.0}, {"share_of_copy", 1.0}};
}

nlohmann::json& step_of(nlohmann::json& j, const std::string& name) {
  for (auto& s : j["steps"])
    if (s["name"] == name) return s;
  throw std::runtime_error(name);
}

/// What a certificate must hold depends on the outputs: only those that add up to 1 have a sum to check.
TEST_F(Verify, TakesAGenuineCertificateOfEveryKindOfOutput) {
  for (const char* line :
       {"lse_block/bf16@host --only shapes --only families", "log_softmax_absorb/bf16@host --only shapes",
        "onepass_topk_log/bf16@host --only shapes", "onepass_topk/bf16@host --only shapes --only families",
        "safe_block/f32@host --op normalizer --only shapes",
        "safe_block/f32@host --only=shapes --quick=true"}) {
    ASSERT_EQ(adopt(line).status, kPassed) << line;
    const Outcome o = verify();
    EXPECT_EQ(o.status, kPassed) << line << "\n" << o.out << o.err;
  }
}

/// A figure that somebody makes better, or a count that he makes larger, contradicts what is left.
TEST_F(Verify, AHeadlineMustAgreeWithTheRest) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch --only shapes").status, kPassed);
  const std::pair<const char*, Change> all[] = {
      {"its max_ulp is 0.25, and its case ", [](auto& j) { j["kernels"][0]["max_ulp"] = 0.25; }},
      {"its max_ulp_ordinary is 1e+20, and its max_ulp, ",
       [](auto& j) { j["kernels"][0]["max_ulp_ordinary"] = 1e20; }},
      {"its max_ulp is none, and its case ", [](auto& j) { j["kernels"][0]["max_ulp"] = nullptr; }},
      {"its max_bound_ratio is 0.01, and its case ",
       [](auto& j) { j["kernels"][0]["max_bound_ratio"] = 0.01; }},
      {"its resolution is 1e-12, and its case ", [](auto& j) { j["kernels"][0]["resolution"] = 1e-12; }},
      {"its resolution_sum is 1e-12, and its check row_sum has ",
       [](auto& j) { j["kernels"][0]["resolution_sum"] = 1e-12; }},
      {"cases were planned, and its counts add up to ",
       [](auto& j) { j["kernels"][0]["planned"] = 99999999; }},
      {"step check: 99,999,999 cases planned and 99,999,999 executed, and of its kernels ",
       [](auto& j) {
         for (const char* n : {"planned", "executed"}) step_of(j, "check")[n] = 99999999;
       }},
      {"its reason is \"check (", [](auto& j) { j["reason"] = "check (99,999,999 cases)"; }},
      {"step fuzz: 99,999,999 inputs executed, and its words say 64",
       [](auto& j) { step_of(j, "fuzz")["executed"] = 99999999; }},
      {"its check written is fail, and its counts make pass",
       [](auto& j) {
         for (auto& check : j["kernels"][0]["checks"])
           if (check["name"] == "written") check["verdict"] = "fail";
       }},
      {"a speed is of fast/f32@cuda, which is none of its kernels",
       [](auto& j) { j["speed"] = {speed_of("fast/f32@cuda")}; }},
      {"it has speeds, and its step sweep measured none",
       [](auto& j) { j["speed"] = {speed_of(j["kernels"][0]["key"])}; }},
      {"step check: its data are \"\", and must be check/records.jsonl",
       [](auto& j) { step_of(j, "check").erase("data"); }},
      {"step sweep did not run, and not_proved does not say so",
       [](auto& j) { j["not_proved"] = nlohmann::json::array(); }},
  };
  for (const auto& [words, change] : all) {
    const Outcome o = verify("--cases 1", forged(change));
    EXPECT_EQ(o.status, kFailed) << words << "\n" << o.out << o.err;
    EXPECT_NE(o.out.find(words), o.out.npos) << words << "\n" << o.out;
  }
  EXPECT_TRUE(contradictions(certificate_from_text(read_file(certificate()), "")).empty());
}

/// What no case here shows, the records beside the certificate do.
TEST_F(Verify, TheDataBesideItMustBeWhatItWasMadeFrom) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch --only shapes").status, kPassed);
  const std::string good = read_file(certificate());
  const auto beside = [&](const Change& change) {
    const std::string file = forged(change);
    fs::copy_file(file, certificate(), fs::copy_options::overwrite_existing);
    const Outcome o = verify("--cases 1");
    std::ofstream(certificate()) << good;
    EXPECT_EQ(o.status, kFailed) << o.out;
    return o.out;
  };
  EXPECT_NE(beside([](auto& j) {
              j["kernels"][0]["max_ulp"] = 1e6;
            }).find("its max_ulp is 1000000, and its records have "),
            std::string::npos);
  EXPECT_NE(beside([](auto& j) {
              j["kernels"][0]["planned"] = j["kernels"][0]["planned"].template get<int>() + 1000;
              j["kernels"][0]["passed"] = j["kernels"][0]["passed"].template get<int>() + 1000;
              for (const char* n : {"planned", "executed"})
                step_of(j, "check")[n] = step_of(j, "check")[n].template get<int>() + 1000;
            }).find("safe_block/f32@host: its passed is "),
            std::string::npos);
  EXPECT_NE(beside([](auto& j) {
              j["kernels"][0]["checks"].erase(0);
            }).find("safe_block/f32@host: its check launch is "),
            std::string::npos);
  EXPECT_NE(beside([](auto& j) {
              j["cases"].back()["family"] = "nothing";
            }).find("a case and the records of the check: they have no such case"),
            std::string::npos);
  EXPECT_NE(beside([](auto& j) {
              for (const char* n : {"planned", "executed"}) step_of(j, "functions")[n] = 3;
            }).find("step functions: 3 planned and 3 executed, and its data have 2 and 2"),
            std::string::npos);
  const Outcome whole = verify("--cases 1");
  EXPECT_EQ(whole.status, kPassed) << whole.out;
  EXPECT_EQ(whole.out.find("not compared: "), whole.out.npos) << whole.out;

  // A file that is not there is named, and no fault; another one is.
  fs::rename(at("out/check/records.jsonl"), at("kept"));
  const Outcome alone = verify("--cases 1");
  EXPECT_EQ(alone.status, kPassed) << alone.out;
  EXPECT_NE(
      alone.out.find("\n  not compared: step check: " + at("out/check/records.jsonl") + " is not there\n"),
      alone.out.npos)
      << alone.out;
  fs::rename(at("kept"), at("out/check/records.jsonl"));
  std::ofstream(at("out/functions/functions.json"), std::ios::app) << ' ';
  const Outcome altered = verify("--cases 1");
  EXPECT_EQ(altered.status, kFailed) << altered.out;
  EXPECT_NE(altered.out.find("step functions: " + at("out/functions/functions.json") + ": its SHA-256 is "),
            altered.out.npos)
      << altered.out;
}

/// Runs a test in another folder.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~InFolder() { fs::current_path(before_); }

 private:
  fs::path before_;
};

TEST_F(Verify, FindsTheSourceAboveTheCertificate) {
  const fs::path project = at("project"), elsewhere = at("elsewhere");
  fs::create_directories(project);
  fs::create_directories(elsewhere);
  const fs::path source = project / "mine.cu";
  fs::copy_file(std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/examples/rows_of_a_warp.cu", source);
  const std::vector<std::string> make = {"adopt",  "mine.cu", "--entry",       "softmax_four_per_warp",
                                         "--host", "--only",  "batch",         "--quick",
                                         "--out",  "out/a",   "--evaluations", "64"};
  {
    const InFolder here(project);
    const Outcome o = command_test::call_words(make);
    ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  }
  const InFolder here(elsewhere);
  const auto verify_it = [&](const fs::path& what) {
    return command_test::call_words({"verify", what.string(), "--cases", "3", "--out", at("verify")});
  };
  const Outcome found = verify_it(project / "out/a/certificate.json");
  EXPECT_EQ(found.status, kPassed) << found.out << found.err;
  EXPECT_NE(found.out.find("figures equal bit for bit"), found.out.npos) << found.out;
  EXPECT_EQ(verify_it(project / "out/a").status, kPassed) << "a folder holds certificate.json";
  // Another file of that name in this folder is not what was certified.
  std::ofstream(elsewhere / "mine.cu") << "int other;\n";
  EXPECT_EQ(verify_it(project / "out/a").status, kPassed);
  fs::remove(elsewhere / "mine.cu");

  // A checkout that was moved: the same binary is made from it.
  fs::copy(project, at("moved"), fs::copy_options::recursive);
  const Outcome moved = verify_it(at("moved/out/a"));
  EXPECT_EQ(moved.status, kPassed) << moved.out << moved.err;
  EXPECT_NE(moved.out.find("figures equal bit for bit"), moved.out.npos) << moved.out;

  std::ofstream(source, std::ios::app) << "// changed\n";
  const Outcome changed = verify_it(project / "out/a");
  EXPECT_EQ(changed.status, kFailed);
  EXPECT_NE(changed.out.find("; adopt it again: assay adopt mine.cu --entry softmax_four_per_warp --host"),
            changed.out.npos)
      << changed.out;
  fs::remove(source);
  const Outcome gone = verify_it(project / "out/a");
  EXPECT_EQ(gone.status, kBadCall) << gone.out;
  EXPECT_EQ(std::count(gone.err.begin(), gone.err.end(), '\n'), 1) << gone.err;
  EXPECT_NE(gone.err.find("mine.cu: no such file, neither here nor in " + (project / "out/a").string() +
                          " or a folder above it"),
            gone.err.npos)
      << gone.err;
}

}  // namespace
}  // namespace assay
