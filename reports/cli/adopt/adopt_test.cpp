// SPDX-License-Identifier: Apache-2.0
// assay adopt and assay verify as they are called: what passes, what fails and by which check, and every way
// in which a certificate stops being true.
#include "reports/cli/adopt/adopt_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/process/process.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/test_folder.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/cli/adopt/steps.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/records/compare.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;
using Adopt = command_test::AdoptTest;

TEST_F(Adopt, ARightKernelGetsACertificateThatVerifies) {
  const Outcome o = adopt("safe_block/f32@host --only shapes --only batch");
  ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  const std::string held = guard_words(json()["kernels"][0]["where"]);
  const std::string guard = held == "not sandboxed" ? "; " + held : "; sandbox: " + held;
  // After the line of the search.
  EXPECT_NE(o.out.find("\nPASS on the CPU, a part of the check" + guard + ": safe_block/f32@host\n"),
            o.out.npos)
      << o.out;
  const nlohmann::json j = json();
  EXPECT_EQ(j["verdict"], "PASS");
  EXPECT_EQ(step(j, "check")["state"], "passed");
  EXPECT_GT(step(j, "check")["executed"].get<int>(), 100);
  EXPECT_EQ(step(j, "check")["executed"], step(j, "check")["planned"]);
  std::string hash;
  for (const auto& d : j["data"])
    if (d["path"] == "check/records.jsonl") hash = d["sha256"];
  EXPECT_EQ(hash, sha256_of_file(at("out/check/records.jsonl")));
  EXPECT_EQ(step(j, "fuzz")["state"], "passed");
  EXPECT_EQ(step(j, "fuzz")["executed"], 64);
  EXPECT_EQ(step(j, "functions")["state"], "passed");
  EXPECT_EQ(step(j, "functions")["executed"], 2);  // expf and x/y
  EXPECT_EQ(step(j, "sweep")["state"], "not_run");
  EXPECT_TRUE(j["speed"].empty());
  const std::string open = j["not_proved"].dump();
  for (const char* words : {"sweep: no speed was measured: ", "only these groups", "the check was quick",
                            "nothing is shown for a GPU", "no proof for all inputs"})
    EXPECT_NE(open.find(words), open.npos) << words << " " << open;
  ASSERT_EQ(j["files"].size(), 2u);
  EXPECT_EQ(j["files"][0]["path"], "kernels/variants/safe/safe_block.cu");
  EXPECT_EQ(j["files"][1]["sha256"], sha256_of_file(isolation::worker_executable("")));
  EXPECT_FALSE(j["kernels"][0]["checks"].empty());
  for (const auto& check : j["kernels"][0]["checks"]) EXPECT_EQ(check["verdict"], "pass") << check;
  EXPECT_TRUE(j["kernels"][0]["max_ulp"].is_number());
  EXPECT_TRUE(j["kernels"][0]["max_ulp_ordinary"].is_null()) << "only the group families has such rows";
  EXPECT_TRUE(j["kernels"][0]["resolution"].is_number());
  for (const char* file : {"out/certificate.html", "out/badge.svg", "out/badge.md", "out/check/index.html"})
    EXPECT_TRUE(fs::exists(at(file))) << file;
  EXPECT_NE(read_file(at("out/certificate.html")).find("PASS"), std::string::npos);
  EXPECT_NE(read_file(at("out/certificate.html")).find("href=\"check/index.html\""), std::string::npos);
  EXPECT_NE(read_file(at("out/check/index.html")).find("href=\"../certificate.html\""), std::string::npos);
  EXPECT_NE(o.out.find("badge: [![assay: PASS on the CPU, a part of the check" + guard + "]("), o.out.npos)
      << o.out;

  const Outcome again = verify();
  EXPECT_EQ(again.status, kPassed) << again.out << again.err;
  EXPECT_NE(again.out.find("20 cases replayed, all as certified (figures equal bit for bit)"), again.out.npos)
      << again.out;
  EXPECT_EQ(read_records(at("verify/records.jsonl")).size(), 20u);
  EXPECT_EQ(verify("--cases 5 --seed 7").status, kPassed);
  // Several threads replay the same cases, in the same order.
  std::vector<std::string> replayed[2];
  for (const int threads : {1, 3}) {
    const Outcome one = verify("--threads " + std::to_string(threads));
    EXPECT_EQ(one.status, kPassed) << one.out << one.err;
    for (const Record& r : read_records(at("verify/records.jsonl")))
      replayed[threads == 3].push_back(record_line(r));
  }
  EXPECT_EQ(replayed[0].size(), 20u);
  EXPECT_EQ(replayed[0], replayed[1]);
  EXPECT_EQ(verify("--threads 0").status, kBadCall);
  // The same kernel of another type is another kernel.
  const Outcome other = verify("safe_block/f16@host");
  EXPECT_EQ(other.status, kFailed) << other.out;
  EXPECT_NE(other.out.find("the certificate leaves out the kernel safe_block/f16@host"), other.out.npos)
      << other.out;
}

/// Probes choose their own row lengths, so they are not planned by those.
TEST_F(Adopt, ProbesAreReplayedToo) {
  const std::string file = std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/examples/rows_of_a_warp.cu";
  const Outcome o = adopt(file + " --entry softmax_four_per_warp --host --only families");
  ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  const std::vector<Record> made = read_records(at("out/check/records.jsonl"));
  const auto probe =
      std::ranges::find_if(made, [](const Record& r) { return std::string(r.family) == kProbeFamily; });
  ASSERT_NE(probe, made.end());
  // A certificate holds a sample of the records: this one is certain to be in it.
  const std::string file_with_it = forged([&](nlohmann::json& j) {
    nlohmann::json c = j["cases"][0];
    c.update(
        {{"family", kProbeFamily}, {"setup", ""}, {"V", probe->V}, {"rows", probe->rows}, {"k", probe->k}});
    c.update({{"max_ulp", nullptr}, {"max_bound_ratio", nullptr}, {"resolution", nullptr}});
    c.update({{"rows_judged", probe->rows_judged}, {"worst", true}});
    j["cases"] = {c};
  });
  const Outcome again = verify("", file_with_it);
  EXPECT_EQ(again.status, kPassed) << again.out << again.err;
  EXPECT_NE(again.out.find("all as certified"), again.out.npos) << again.out;
}

TEST_F(Adopt, AWrongKernelFailsAndTheCertificateSaysByWhichCheck) {
  const Outcome o = adopt("mutant.no_max/f32@host --only shapes");
  ASSERT_EQ(o.status, kFailed) << o.out << o.err;
  EXPECT_TRUE(o.out.starts_with("FAIL mutant.no_max/f32@host\n  check: FAIL: ")) << o.out;
  EXPECT_NE(o.out.find("assay check mutant.no_max/f32@host"), o.out.npos) << o.out;
  EXPECT_NE(o.out.find("; failed checks: "), o.out.npos) << o.out;
  EXPECT_NE(o.out.find("element ("), o.out.npos) << o.out;
  const nlohmann::json j = json();
  EXPECT_EQ(j["verdict"], "FAIL");
  EXPECT_EQ(step(j, "check")["state"], "failed");
  EXPECT_EQ(step(j, "fuzz")["state"], "not_run");
  std::vector<std::string> failed;
  for (const auto& check : j["kernels"][0]["checks"])
    if (check["verdict"] == "fail") failed.push_back(check["name"]);
  EXPECT_NE(std::find(failed.begin(), failed.end(), "element"), failed.end())
      << testing::PrintToString(failed);
  EXPECT_NE(read_file(at("out/badge.svg")).find("assay: FAIL"), std::string::npos);
  // It is as certified, and that is no reason for a status of 0.
  const Outcome again = verify();
  EXPECT_EQ(again.status, kFailed) << again.out;
  EXPECT_NE(again.out.find("all as certified"), again.out.npos) << again.out;
  EXPECT_NE(again.out.find("the certificate says FAIL"), again.out.npos) << again.out;
  // Nor is one that somebody made green.
  const std::string green = forged([](nlohmann::json& c) { c["verdict"] = "PASS", c["exit_status"] = 0; });
  const Outcome no = verify("", green);
  EXPECT_EQ(no.status, kFailed);
  for (const char* words : {"/verdict: the certificate says \"PASS\", and the rest of it says \"FAIL\"",
                            "/exit_status: the certificate says 0, and the rest of it says 1"})
    EXPECT_NE(no.out.find(words), no.out.npos) << no.out;
}

TEST_F(Adopt, OfASharedObjectTheCertificateSaysWhatWasNotMeasured) {
  const std::string file = plugin();
  if (file.empty()) GTEST_SKIP() << "the fixtures are not built";
  adopt(file + " --only families");
  const nlohmann::json j = json();
  EXPECT_EQ(step(j, "functions")["state"], "not_run");
  const std::string functions = step(j, "functions")["words"];
  EXPECT_NE(functions.find("; the check measured: "), functions.npos) << functions;
  EXPECT_NE(functions.find("exp accurate"), functions.npos) << functions;
  const std::string open = j["not_proved"].dump();
  for (const char* words :
       {"functions: no function that it uses was tested: ", "sweep: no speed was measured: "})
    EXPECT_NE(open.find(words), open.npos) << words << " " << open;
}

TEST_F(Adopt, AChangedBinaryIsNamed) {
  const std::string mine = plugin();
  if (mine.empty()) GTEST_SKIP();
  const Outcome o = adopt(mine + " --only shapes");
  ASSERT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_EQ(step(json(), "functions")["state"], "not_run");
  EXPECT_EQ(json()["files"][0]["role"], "binary");
  EXPECT_EQ(json()["files"][0]["sha256"], sha256_of_file(mine));
  EXPECT_EQ(verify().status, kPassed);
  fs::copy_file(mine, at("moved.so"));
  EXPECT_EQ(verify(at("moved.so")).status, kPassed);  // the same bytes at another place
  std::ofstream(mine, std::ios::app | std::ios::binary) << '\0';
  const Outcome changed = verify();
  EXPECT_EQ(changed.status, kFailed);
  EXPECT_NE(changed.out.find("binary " + mine + ": its SHA-256 is "), changed.out.npos) << changed.out;
  EXPECT_EQ(read_file(at("verify/records.jsonl")), "");
  // Another build of the same source may have other bytes, if the caller says so.
  const Outcome rebuilt = verify("--rebuilt");
  EXPECT_EQ(rebuilt.status, kPassed) << rebuilt.out;
  EXPECT_NE(rebuilt.out.find("verdicts equal, figures not compared"), rebuilt.out.npos) << rebuilt.out;
  fs::remove(mine);
  const Outcome gone = verify();
  EXPECT_EQ(gone.status, kBadCall);
  EXPECT_EQ(std::count(gone.err.begin(), gone.err.end(), '\n'), 1) << gone.err;
}

TEST_F(Adopt, ATamperedFigureIsNoticed) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch").status, kPassed);
  nlohmann::json j = json();
  ASSERT_EQ(j["cases"][0]["worst"], true);
  j["cases"][0]["max_ulp"] = 0.25;
  std::ofstream(at("tampered.json")) << j.dump(1);
  const Outcome careless = verify("", at("tampered.json"));
  EXPECT_EQ(careless.status, kFailed);
  EXPECT_NE(careless.out.find("it was changed after it was written"), careless.out.npos) << careless.out;
  // So does a word that is none.
  std::string text = read_file(certificate());
  text.replace(text.find("\"PASS\""), 6, "\"GREAT\"");
  std::ofstream(at("tampered.json")) << text;
  const Outcome word = verify("", at("tampered.json"));
  EXPECT_EQ(word.status, kFailed) << word.out << word.err;
  EXPECT_NE(word.out.find("it was changed after it was written"), word.out.npos) << word.out;
  EXPECT_NE(word.out.find("field verdict: \"GREAT\" is not known"), word.out.npos) << word.out;
  const Outcome known = verify("", forged([](nlohmann::json& c) { c["verdict"] = "GREAT"; }));
  EXPECT_EQ(known.status, kBadCall) << known.out << known.err;
  // With a hash that fits, the case itself tells.
  const Outcome careful = verify("", forged([](nlohmann::json& c) { c["cases"][0]["max_ulp"] = 0.25; }));
  EXPECT_EQ(careful.status, kFailed);
  EXPECT_NE(careful.out.find("max_ulp was 0.25, and is "), careful.out.npos) << careful.out;
  const Outcome status = verify("", forged([](nlohmann::json& c) { c["cases"][0]["status"] = "fail"; }));
  EXPECT_EQ(status.status, kFailed);
  EXPECT_NE(status.out.find("it was fail, and is pass"), status.out.npos) << status.out;
  const Outcome family = verify("", forged([](nlohmann::json& c) { c["cases"][0]["family"] = "nothing"; }));
  EXPECT_EQ(family.status, kFailed);
  EXPECT_NE(family.out.find("it can not be made again: "), family.out.npos) << family.out;
  const auto again = [&](const char* field, const nlohmann::json& value) {
    return verify("", forged([&](nlohmann::json& c) {
                    c["cases"][0]["op"] = "top_p";
                    c["cases"][0]["threshold"] = 0.9;
                    c["cases"][0][field] = value;
                  }))
        .out;
  };
  EXPECT_NE(again("threshold", 2.0).find("made again: threshold 2: must be 0.000001 to 1"),
            std::string::npos);
  EXPECT_NE(again("V", -1).find("made again: V -1, rows "), std::string::npos);
  EXPECT_NE(again("op", "hardmax").find("made again: op hardmax: unknown"), std::string::npos);
}

TEST_F(Adopt, ACertificateWithoutCasesVerifiesNothing) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch").status, kPassed);
  const Outcome o = verify("", forged([](nlohmann::json& c) { c["cases"] = nlohmann::json::array(); }));
  EXPECT_EQ(o.status, kFailed);
  EXPECT_NE(o.out.find("and the rest of it says \"NOT JUDGED\""), o.out.npos) << o.out;
  const Outcome streams = adopt("safe_block/f32@host --only streams");
  EXPECT_EQ(streams.status, kEnvironment) << streams.out;
  EXPECT_EQ(json()["verdict"], "NOT JUDGED");
}

/// Most of its cases are so coarse that any output would pass; those of group shapes that pass have no
/// element.
TEST_F(Adopt, WhatIsTooCoarseToJudgeIsNoPass) {
  const Outcome none = adopt("three_kernel_safe_thread/f16@host --only shapes");
  EXPECT_EQ(none.status, kEnvironment) << none.out;
  EXPECT_EQ(json()["verdict"], "NOT RUN");
  EXPECT_NE(json()["reason"].get<std::string>().find("no output was judged"), std::string::npos) << none.out;
  const Outcome part = adopt("safe_block_half/f16@host --only layout");
  EXPECT_EQ(part.status, kUndeclaredLimits) << part.out;
  EXPECT_EQ(json()["verdict"], "JUDGED IN PART");
  EXPECT_NE(json()["not_proved"].dump().find("were not judged: the arithmetic that it claims"),
            std::string::npos);
  EXPECT_NE(read_file(at("out/badge.svg")).find("JUDGED IN PART"), std::string::npos);
  EXPECT_EQ(verify().status, kUndeclaredLimits) << verify().out;
  EXPECT_EQ(verify("", forged([](nlohmann::json& c) { c["kernels"][0]["too_coarse"] = 0; })).status, kFailed);
  const Outcome more = verify("", forged([](nlohmann::json& c) { c["reason"] = "check (9,999,999 cases)"; }));
  EXPECT_NE(more.out.find("/reason: the certificate says "), more.out.npos) << more.out;
}

TEST_F(Adopt, AFileThatIsNoCertificateIsABadCall) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch").status, kPassed);
  const std::string text = read_file(certificate());
  nlohmann::json newer = json(), less = json();
  newer["version"] = 99;
  less.erase("cases");
  for (const std::string& bad : {text.substr(0, text.size() / 2), std::string(), std::string("[]"),
                                 newer.dump(), less.dump(), std::string("{}"), std::string("\0\xff", 2)}) {
    std::ofstream(at("bad.json"), std::ios::binary) << bad;
    const Outcome o = verify("", at("bad.json"));
    EXPECT_EQ(o.status, kBadCall) << bad.substr(0, 40);
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
    EXPECT_NE(o.err.find("bad.json: "), o.err.npos) << o.err;
    EXPECT_EQ(o.out, "");
  }
  EXPECT_EQ(verify("", at("nowhere.json")).status, kBadCall);
}

TEST_F(Adopt, WhatCannotRunHereIsNoPass) {
  const std::string device = std::string(ASSAY_FIXTURES) + "/fixture_on_device.so";
  if (!fs::exists(device)) GTEST_SKIP();
  if (unavailable_reason(Backend::cuda).empty()) GTEST_SKIP() << "a GPU is here";
  const Outcome o = adopt(device + " --only shapes");
  EXPECT_EQ(o.status, kEnvironment) << o.out;
  EXPECT_NE(o.err.find(": " + unavailable_reason(Backend::cuda)), o.err.npos) << o.err;
  EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  EXPECT_FALSE(fs::exists(certificate())) << "a certificate of nothing";
}

TEST_F(Adopt, BadCallsAreOneLineAndWriteNothing) {
  for (const char* line :
       {"no_such_key/f32@host", "safe_block/f32@host --only shades", "safe_block/f32@host --full",
        "safe_block/f32@host --time soon", "safe_block/f32@host --budget 1x",
        "safe_block/f32@host --op sotfmax", "/no/such.so", "/no/such.cu --entry f --host"}) {
    const Outcome o = adopt(line);
    EXPECT_EQ(o.status, kBadCall) << line;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << line << ": " << o.err;
    EXPECT_FALSE(fs::exists(certificate())) << line;
  }
}

TEST_F(Adopt, ASourceFileIsHashedAndItsContractIsFound) {
  const std::string file = at("by_four.cpp");
  std::ofstream(file) << "#include \"more.h\"\n" << process_test::kByFour;
  std::ofstream(at("more.h")) << "constexpr int kMore = 1;\n";
  const Outcome o = adopt(file + " --entry by_four --host");
  ASSERT_EQ(o.status, kUndeclaredLimits) << o.out << o.err;
  const nlohmann::json j = json();
  EXPECT_EQ(j["verdict"], "PASS");
  EXPECT_EQ(j["kernels"][0]["undeclared"], "V_multiple=4");
  EXPECT_EQ(j["target"]["entry"], "by_four");
  std::string roles;
  // A program that has libraries in it gets those that the kernel needs: they are its runtime.
  for (const auto& f : j["files"])
    if (f["role"] != "runtime") roles += f["role"].get<std::string>() + " ";
  ASSERT_EQ(roles, "source include binary system compiler ");
  EXPECT_EQ(j["files"][0]["sha256"], sha256_of_file(file));
  EXPECT_EQ(j["files"][1]["path"], "more.h");
  EXPECT_EQ(j["files"][1]["sha256"], sha256_of_file(at("more.h")));
  EXPECT_EQ(j["files"][2]["sha256"], sha256_of_file(j["files"][2]["path"].get<std::string>()));
  EXPECT_EQ(step(j, "fuzz")["state"], "passed") << "the search keeps to the limits that were found";
  EXPECT_EQ(step(j, "functions")["state"], "passed");
  EXPECT_EQ(step(j, "functions")["executed"], 2) << step(j, "functions");  // its source has expf and "/"
  const std::string open = j["not_proved"].dump();
  for (const char* words : {"those that its source names were tested", "sweep: no speed was measured: "})
    EXPECT_NE(open.find(words), open.npos) << words << " " << open;
  EXPECT_NE(read_file(at("out/certificate.html")).find("<p>No speed was measured: "), std::string::npos);
  EXPECT_EQ(verify().status, kUndeclaredLimits);
  std::ofstream(at("more.h"), std::ios::app) << "// changed\n";
  const Outcome included = verify();
  EXPECT_EQ(included.status, kFailed);
  EXPECT_NE(included.out.find("include more.h: its SHA-256 is "), included.out.npos) << included.out;
  std::ofstream(at("more.h")) << "constexpr int kMore = 1;\n";
  std::ofstream(file, std::ios::app) << "// changed\n";
  const Outcome changed = verify();
  EXPECT_EQ(changed.status, kFailed);
  EXPECT_NE(changed.out.find("source " + file + ": its SHA-256 is "), changed.out.npos) << changed.out;
}

TEST_F(Adopt, TheSweepGivesSpeedsOfKernelsThatCanBeTimed) {
  const Variant* const v = find_variant("safe_block/f32@host");
  ASSERT_NE(v, nullptr);
  const OutFolder out(at("sweep"));
  StepOptions o;
  o.host_speed = true;
  o.sweep_sizes = {64};
  AdoptionFacts facts;
  sweep_step({{*v, v->key(), [v] { return *v; }}}, o, out.path(), facts);
  Certificate c;
  add_sweep(c, facts, read_facts<SweepRecord>(out / "sweep" / "sweep.jsonl"));
  ASSERT_EQ(c.steps.size(), 1u);
  EXPECT_EQ(c.steps[0].state, Status::pass) << c.steps[0].words;
  EXPECT_GT(c.steps[0].executed, 0);
  ASSERT_FALSE(c.speed.empty());
  EXPECT_EQ(c.speed[0].verified, Status::pass);
  EXPECT_GT(c.speed[0].median_us.value_or(0), 0);
}

}  // namespace
}  // namespace assay
