// SPDX-License-Identifier: Apache-2.0
// assay inputs and assay grade, end to end: right outputs written beside the inputs pass. Wrong, missing and
// malformed ones are reported by exit status and one line.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "accuracy/verdict/strangers_test.hpp"
#include "reference/files/npy.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"
#include "reports/runs/manifest.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

using command_test::call_words;
using command_test::Outcome;

class Grade : public command_test::FolderTest {
 protected:
  /// What a user's program does: runs a row kernel on every logits file of the manifest.
  void compute(const std::string& inputs, strangers::RowKernel kernel, std::optional<Dtype> out = {}) const {
    const Manifest m = read_manifest(inputs);
    for (const Graded& g : outputs_of(m, inputs)) {
      const Tensor x = read_npy(g.logits, Bf16::as_u2);
      write_npy(g.values, softmax_of(x, kernel, out.value_or(x.dtype)), Bf16::as_u2);
    }
  }
  static Tensor softmax_of(const Tensor& x, strangers::RowKernel kernel, Dtype out) {
    Tensor y(out, x.rows, x.V);
    std::vector<float> row(static_cast<std::size_t>(x.V)), p(row);
    for (std::int64_t r = 0; r < x.rows; ++r) {
      for (std::int64_t j = 0; j < x.V; ++j)
        row[static_cast<std::size_t>(j)] = static_cast<float>(x.at(r, j));
      kernel(row.data(), p.data(), x.V);
      for (std::int64_t j = 0; j < x.V; ++j) y.set(r, j, static_cast<double>(p[static_cast<std::size_t>(j)]));
    }
    return y;
  }
  std::vector<nlohmann::json> records() const {
    std::vector<nlohmann::json> all;
    std::istringstream in(read_file(folder / "graded/records.jsonl"));
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  const fs::path folder = own_.path();
};

TEST_F(Grade, RightOutputsOfEveryInputPass) {
  const std::string in = at("in"), out = at("graded");
  const Outcome made =
      call_words({"inputs", "--out", in, "--V", "33", "1000", "--dtype", "f16", "bf16", "f32"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_NE(made.out.find("assay grade " + in), std::string::npos) << made.out;
  const auto manifest = nlohmann::json::parse(read_file(folder / "in/manifest.json"));
  EXPECT_GT(manifest["cases"].size(), 200u);
  EXPECT_FALSE(manifest["cases"][0]["attacks"].get<std::string>().empty());
  EXPECT_EQ(manifest["grade"], "assay grade " + in);
  compute(in, strangers::two_pass);
  const Outcome graded = call_words({"grade", in, "--out", out});
  EXPECT_EQ(graded.status, 0) << graded.out << graded.err;
  EXPECT_NE(graded.out.find("PASS"), std::string::npos) << graded.out;
  EXPECT_EQ(records().size(), manifest["cases"].size());
  for (const char* file : {"summary.md", "index.html"}) EXPECT_TRUE(fs::exists(folder / "graded" / file));
}

TEST_F(Grade, WrongOutputsFailWithTheElementThatProvesIt) {
  const std::string in = at("in"), out = at("graded");
  ASSERT_EQ(call_words({"inputs", "--out", in, "--V", "1000", "--family", "normal_1", "lane_maxima"}).status,
            0);
  compute(in, strangers::lane_maximum);
  const Outcome graded = call_words({"grade", in, "--out", out});
  EXPECT_EQ(graded.status, 1);
  EXPECT_NE(graded.out.find("FAIL"), std::string::npos) << graded.out;
  for (const auto& r : records())
    if (r["family"] == "lane_maxima") {
      EXPECT_EQ(r["status"], "fail");
      EXPECT_FALSE(r["worst"].is_null());
      EXPECT_TRUE(r["reproduce"].get<std::string>().starts_with("assay grade --logits " + in))
          << r["reproduce"];
    }
}

TEST_F(Grade, AReproduceLineGradesTheSameFilesAgain) {
  const std::string in = at("in"), out = at("graded");
  ASSERT_EQ(call_words({"inputs", "--out", in, "--V", "33", "--family", "normal_10"}).status, 0);
  compute(in, strangers::zeros);
  ASSERT_EQ(call_words({"grade", in, "--out", out}).status, 1);
  const auto before = records().at(0);
  std::istringstream line(before["reproduce"].get<std::string>());
  std::vector<std::string> words;
  for (std::string w; line >> w;) words.push_back(w);
  words.erase(words.begin());
  words.insert(words.end(), {"--out", out});
  EXPECT_EQ(call_words(words).status, 1);
  const auto after = records().at(0);
  EXPECT_EQ(after["checks"], before["checks"]);
  EXPECT_EQ(after["reproduce"], before["reproduce"]);
}

TEST_F(Grade, MissingOutputsAreNotPassedOver) {
  const std::string in = at("in"), out = at("graded");
  ASSERT_EQ(call_words({"inputs", "--out", in, "--V", "33", "--family", "normal_1", "ties"}).status, 0);
  compute(in, strangers::two_pass);
  fs::remove(folder / "in/ties_V33.probs.npy");
  const Outcome graded = call_words({"grade", in, "--out", out});
  EXPECT_EQ(graded.status, 1) << graded.out;
  EXPECT_NE(graded.out.find("ties_V33.probs.npy: no such file"), std::string::npos) << graded.out;
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(Grade, ADeclarationAndAPromiseAreHeldTo) {
  const std::string in = at("in"), out = at("graded");
  ASSERT_EQ(call_words({"inputs", "--out", in, "--V", "33", "--family", "all_neg_inf"}).status, 0);
  compute(in, strangers::zero_policy);
  EXPECT_EQ(call_words({"grade", in, "--out", out}).status, 1);
  EXPECT_EQ(records().at(0)["behaves_like"], "would pass with all_neg_inf=zero");
  EXPECT_EQ(call_words({"grade", in, "--out", out, "--declare", "all_neg_inf=zero"}).status, 0);

  ASSERT_EQ(call_words({"inputs", "--out", in, "--V", "1000", "--family", "normal_1"}).status, 0);
  compute(in, strangers::two_pass);
  EXPECT_EQ(call_words({"grade", in, "--out", out, "--max-ulp", "200"}).status, 0);
  EXPECT_EQ(call_words({"grade", in, "--out", out, "--max-ulp", "0.5"}).status, 1);
  EXPECT_EQ(records().at(0)["reason"], "failed: max_ulp");
  const Outcome bad = call_words({"grade", in, "--out", out, "--declare", "tolerance=1e-3"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_NE(bad.err.find("tolerance"), std::string::npos) << bad.err;
}

TEST_F(Grade, TakesPairsOfTypes) {
  Tensor x(Dtype::f16, 4, 257);
  for (std::int64_t i = 0; i < 4 * 257; ++i) x.set(i / 257, i % 257, static_cast<double>(i * 37 % 101) / 16);
  write_npy(folder / "x.npy", x);
  for (const Dtype out : {Dtype::f16, Dtype::f32, Dtype::f64}) {
    write_npy(folder / "y.npy", softmax_of(x, strangers::in_double, out));
    const Outcome o =
        call_words({"grade", "--logits", at("x.npy"), "--probs", at("y.npy"), "--out", at("graded")});
    EXPECT_EQ(o.out.find('{'), std::string::npos) << "records are in records.jsonl: " << o.out;
    EXPECT_EQ(o.status, 0) << name(out) << o.out << o.err;
  }
  EXPECT_EQ(records().at(0)["key"], "outputs/f16:f64@plugin");
}

TEST_F(Grade, BitsOfBf16BesideOtherLogits) {
  Tensor x(Dtype::f32, 4, 33);
  for (std::int64_t i = 0; i < 4 * 33; ++i) x.set(i / 33, i % 33, static_cast<double>(i * 37 % 101) / 16);
  write_npy(folder / "x.npy", x);
  write_npy(folder / "y.npy", softmax_of(x, strangers::in_double, Dtype::bf16), Bf16::as_u2);
  const std::vector<std::string> words = {"grade",   "--logits", at("x.npy"), "--probs",   at("y.npy"),
                                          "--dtype", "f32:bf16", "--out",     at("graded")};
  const Outcome o = call_words(words);
  EXPECT_EQ(o.status, 0) << o.out << o.err;
  EXPECT_EQ(records().at(0)["key"], "outputs/f32:bf16@plugin");
  EXPECT_EQ(records().at(0)["reproduce"],
            "assay grade --logits " + at("x.npy") + " --probs " + at("y.npy") + " --dtype f32:bf16");
}

TEST_F(Grade, TakesTopK) {
  Tensor x(Dtype::f32, 2, 9), values(Dtype::f32, 2, 3);
  IndexMatrix at3{2, 3, {}};
  for (std::int64_t r = 0; r < 2; ++r)
    for (std::int64_t j = 0; j < 9; ++j)
      x.set(r, j, static_cast<double>(j * 4 % 9));  // 8 at 2, 7 at 4, 6 at 6
  for (std::int64_t r = 0; r < 2; ++r)
    for (std::int64_t s = 0; s < 3; ++s) {
      at3.at.push_back(2 + 2 * s);
      values.set(r, s, static_cast<double>(8 - s));
    }
  write_npy(folder / "x.npy", x);
  write_npy(folder / "v.npy", values);
  write_npy_indices(folder / "i.npy", at3);
  const std::vector<std::string> base = {"grade",     "--logits", at("x.npy"), "--indices",
                                         at("i.npy"), "--out",    at("graded")};
  std::vector<std::string> both = base;
  both.insert(both.end(), {"--values", at("v.npy")});
  EXPECT_EQ(call_words(base).status, 0);
  EXPECT_EQ(call_words(both).status, 0);
  at3.at[1] = 5;
  write_npy_indices(folder / "i.npy", at3);
  EXPECT_EQ(call_words(base).status, 1);
  EXPECT_EQ(records().at(0)["reason"], "failed: order");
}

TEST_F(Grade, CoqSaysInOneLineWhatItDoesNotTake) {
  Tensor x(Dtype::f32, 2, 40), longer(Dtype::f32, 1, 65);
  for (std::int64_t j = 0; j < 40; ++j) x.set(1, j, static_cast<double>(j * 7 % 40) / 8);
  write_npy(at("x.npy"), x);
  write_npy(at("y.npy"), softmax_of(x, strangers::two_pass, Dtype::f32));
  write_npy(at("long.npy"), longer);
  x.set(1, 3, -INFINITY);
  write_npy(at("masked.npy"), x);
  const char* safe = "algorithm=safe";
  const auto call = [&](const char* logits, const char* probs, const char* declared, const char* row) {
    return call_words({"coq", "--logits", at(logits), "--probs", at(probs), "--declare", declared, "--row",
                       row, "--out", at("row.v")});
  };
  EXPECT_EQ(call("x.npy", "y.npy", safe, "1").status, 0);
  EXPECT_NE(read_file(folder / "row.v").find("passes_true"), std::string::npos);
  for (const auto& [said, outcome] : std::initializer_list<std::pair<const char*, Outcome>>{
           {"64 at most", call("long.npy", "long.npy", safe, "0")},
           {"has 2 rows", call("x.npy", "y.npy", safe, "2")},
           {"a row of equal logits", call("x.npy", "y.npy", safe, "0")},
           {"finite ones", call("masked.npy", "y.npy", safe, "1")},
           {"exp=exp2_fma", call("x.npy", "y.npy", "algorithm=safe; exp=exp2_fma", "1")},
           {"normalise=kept", call("x.npy", "y.npy", "normalise=kept", "1")}}) {
    EXPECT_EQ(outcome.status, 2) << said;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

}  // namespace
}  // namespace assay
