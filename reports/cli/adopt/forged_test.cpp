// SPDX-License-Identifier: Apache-2.0
// Somebody edits one field of a certificate and gives it the hash of its new contents. assay verify must find
// every field that something else in the certificate, the kernel or a file beside it says as well.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/cli/adopt/adopt_test.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;
using Json = nlohmann::json;
using Forged = command_test::AdoptTest;

struct Edit {
  const char* words;  // what verify says
  std::function<void(Json&)> change;
  int status = kFailed;
};

Json& step_in(Json& j, const std::string& name) {
  for (auto& s : j["steps"])
    if (s["name"] == name) return s;
  throw std::runtime_error(name);
}
void drop_step(Json& j, const std::string& name) {
  std::erase_if(j["steps"].get_ref<Json::array_t&>(), [&](const Json& s) { return s["name"] == name; });
}
void drop_line(Json& j, const std::string& part) {
  auto& lines = j["not_proved"].get_ref<Json::array_t&>();
  const std::size_t before = lines.size();
  std::erase_if(lines,
                [&](const Json& line) { return line.get<std::string>().find(part) != std::string::npos; });
  ASSERT_EQ(lines.size() + 1, before) << part;
}
void drop_check(Json& j, const std::string& name) {
  std::erase_if(j["kernels"][0]["checks"].get_ref<Json::array_t&>(),
                [&](const Json& c) { return c["name"] == name; });
}
Json& fact_in(Json& j, const std::string& label) {
  for (auto& f : j["environment"])
    if (f["label"] == label) return f["value"];
  throw std::runtime_error(label);
}

const std::vector<Edit>& edits() {
  static const std::vector<Edit> all = {
      {"its on_host is false", [](Json& j) { j["kernels"][0]["on_host"] = false; }},
      {"its op is softmax, and in the certificate normalizer",
       [](Json& j) { j["kernels"][0]["op"] = "normalizer"; }},
      {"not_proved leaves out: only these groups of the check ran: batch, shapes",
       [](Json& j) { drop_line(j, "only these groups"); }},
      {"its extent is quick, and not_proved does not say that the check was quick",
       [](Json& j) { drop_line(j, "the check was quick"); }},
      {"not_proved leaves out: safe_block/f32@host: ran on the CPU, so nothing is shown for a GPU",
       [](Json& j) { drop_line(j, "ran on the CPU"); }},
      {"not_proved leaves out: sweep: no speed was measured: ",
       [](Json& j) {
         for (auto& line : j["not_proved"])
           if (line.get<std::string>().starts_with("sweep: ")) line = "sweep: it was fast";
       }},
      {"not_proved leaves out: other inputs than those that ran",
       [](Json& j) { drop_line(j, "other inputs"); }},
      {"its extent is normal, and its command makes quick", [](Json& j) { j["extent"] = "normal"; }},
      {"its extent is normal, and that of a case is another",
       [](Json& j) {
         j["extent"] = "normal";
         j["command"] = "assay adopt safe_block/f32@host --only batch --only shapes --evaluations 64";
       }},
      {"its extent is all, and its command makes quick", [](Json& j) { j["extent"] = "all"; }},
      {"it names 0 groups of the check that ran alone", [](Json& j) { j["only"] = Json::array(); }},
      {"a case is of group shapes, which did not run", [](Json& j) { j["only"] = {"batch"}; }},
      {"it has no check launch, and must have", [](Json& j) { j["kernels"][0]["checks"] = Json::array(); }},
      {"its checks do not have guard, which was made again", [](Json& j) { drop_check(j, "guard"); }},
      {"it has no check element, and must have", [](Json& j) { drop_check(j, "element"); }},
      {"it has no check row_sum, and must have", [](Json& j) { drop_check(j, "row_sum"); }},
      {"step sweep: the certificate leaves it out", [](Json& j) { drop_step(j, "sweep"); }},
      {"step functions: the certificate leaves it out", [](Json& j) { drop_step(j, "functions"); }},
      {"its seed is 1, and that of step check is 7", [](Json& j) { step_in(j, "check")["seed"] = 7; }},
      {"its seed is 1, and that of step fuzz is 7", [](Json& j) { step_in(j, "fuzz")["seed"] = 7; }},
      {"its seed is 7, and that of step check is 1", [](Json& j) { j["seed"] = 7; }},
      {"its seed is 1, and that of a case: ", [](Json& j) { j["cases"][0]["seed"] = 7; }},
      {"its seed is 1, and that of its environment 7", [](Json& j) { fact_in(j, "seed") = "7"; }},
      {"its environment does not say: CPU", [](Json& j) { j["environment"] = Json::array(); }},
      {"its environment does not say: sandbox", [](Json& j) { fact_in(j, "sandbox") = ""; }},
      {"step fuzz: 1000 inputs planned, and its command and words make 64",
       [](Json& j) { step_in(j, "fuzz")["planned"] = 1000; }},
      {"step functions: 1 planned, and 2 executed", [](Json& j) { step_in(j, "functions")["planned"] = 1; }},
      {"step sweep did not run, and 5 are executed", [](Json& j) { step_in(j, "sweep")["executed"] = 5; }},
      {"step fuzz: it has no hash of what the search learned",
       [](Json& j) { step_in(j, "fuzz").erase("corpus_sha256"); }},
      {"a case is of safe_block/f32@host, which is none of its kernels",
       [](Json& j) { j["kernels"] = Json::array(); }},
      {"a case passed, and its share of a bound is 1.5",
       [](Json& j) { j["cases"][0]["max_bound_ratio"] = 1.5; }},
      {"their largest share of a bound is 167771.94",
       [](Json& j) { j["kernels"][0]["max_bound_ratio"] = 167771.94; }},
      {"passed, and is at 2 of its bound",
       [](Json& j) {
         for (auto& check : j["kernels"][0]["checks"])
           if (check["name"] == "element") check["utilisation"] = 2;
       }},
      {"not_proved leaves out: safe_block/f32@host: rows: 9 were judged",
       [](Json& j) { j["kernels"][0]["rows_judged"] = 9; }},
      {"no check gives this", [](Json& j) { j["kernels"][0]["lengths"] = 1000000000000; }},
      {"no check gives this", [](Json& j) { j["kernels"][0]["core_beyond"] = 99999; }},
      {"not_proved leaves out: what it does on another day", [](Json& j) { drop_line(j, "another day"); }},
      {"nothing is required of it, and it does not take all of that",
       [](Json& j) { j["kernels"][0]["uncovered"] = {"V = 1"}; }},
      {"and rows of 1 lengths were judged",
       [](Json& j) {
         j["kernels"][0]["within"] = "rows >= 1; V >= 1";
         j["kernels"][0]["lengths"] = 1;
       }},
      {"binary ", [](Json& j) { j["files"] = Json::array(); }},
      {": the certificate has no hash of it", [](Json& j) { j["files"][1]["sha256"] = ""; }},
      {"field \"approved_by\": is no field of a certificate", [](Json& j) { j["approved_by"] = "me"; },
       kBadCall},
      {"field \"approved\": is no field of a certificate",
       [](Json& j) { j["kernels"][0]["checks"][0]["approved"] = true; }, kBadCall},
  };
  return all;
}

TEST_F(Forged, EveryFieldThatSomethingElseSaysIsCompared) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch --only shapes").status, kPassed);
  const Outcome right = verify("--cases 1", forged([](Json&) {}));
  ASSERT_EQ(right.status, kPassed) << right.out << right.err;
  for (const Edit& e : edits()) {
    const Outcome o = verify("--cases 1", forged(e.change));
    EXPECT_EQ(o.status, e.status) << e.words << "\n" << o.out << o.err;
    EXPECT_NE((o.out + o.err).find(e.words), o.out.npos) << e.words << "\n" << o.out << o.err;
  }
}

/// What only the files beside a certificate say.
TEST_F(Forged, TheFilesBesideItAreCompared) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch").status, kPassed);
  const std::string good = read_file(certificate());
  const auto beside = [&](const std::function<void(Json&)>& change) {
    fs::copy_file(forged(change), certificate(), fs::copy_options::overwrite_existing);
    const Outcome o = verify("--cases 1");
    std::ofstream(certificate()) << good;
    return o;
  };
  Outcome o = beside([](Json& j) { step_in(j, "fuzz")["corpus_sha256"] = std::string(64, '0'); });
  EXPECT_EQ(o.status, kFailed) << o.out;
  EXPECT_NE(o.out.find("step fuzz: what the search learned, in "), o.out.npos) << o.out;
  o = beside([](Json& j) {
    for (auto& line : j["not_proved"])
      if (line.get<std::string>().starts_with("the check was quick"))
        line = "the check was quick: all row lengths were tried";
  });
  EXPECT_EQ(o.status, kFailed) << o.out;
  EXPECT_NE(o.out.find("not_proved leaves out: the check was quick: 2 of "), o.out.npos) << o.out;
  fs::remove_all(at("out/fuzz/corpus"));
  o = verify("--cases 1");
  EXPECT_EQ(o.status, kPassed) << o.out;
  EXPECT_NE(o.out.find("not compared: step fuzz: " + at("out/fuzz/corpus") + " is not there"), o.out.npos)
      << o.out;
}

/// A certificate without the hash of a file would be one of every kernel of that name.
TEST_F(Forged, AFileWithoutItsHashIsADifference) {
  const std::string mine = plugin();
  if (mine.empty()) GTEST_SKIP();
  ASSERT_EQ(adopt(mine + " --only batch").status, kPassed);
  ASSERT_EQ(verify("--cases 1", forged([](Json&) {})).status, kPassed);
  const std::pair<const char*, std::function<void(Json&)>> all[] = {
      {"the certificate has no hash of it", [](Json& j) { j["files"] = Json::array(); }},
      {"the certificate has no hash of it", [](Json& j) { j["files"][0]["sha256"] = ""; }},
      {"its on_host is true, and in the certificate false",
       [](Json& j) { j["kernels"][0]["on_host"] = false; }},
  };
  for (const auto& [words, change] : all)
    for (const char* more : {"--cases 1", "--cases 1 --rebuilt"}) {
      const Outcome o = verify(mine + " " + more, forged(change));
      EXPECT_EQ(o.status, kFailed) << words << "\n" << o.out << o.err;
      EXPECT_NE(o.out.find(words), o.out.npos) << words << "\n" << o.out << o.err;
    }
}

}  // namespace
}  // namespace assay
