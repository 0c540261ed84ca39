// SPDX-License-Identifier: Apache-2.0
// The bounds and verdicts of the C++ against the formula in Coq: each test writes a file of Coq, and coqc
// decides. The compiled proofs are in the folder $ASSAY_PROOFS; ctest's tests proof.* set it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "accuracy/bounds/bounds.hpp"
#include "reference/files/npy.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The compiled proofs; empty if there are none.
fs::path proofs() {
  const char* folder = std::getenv("ASSAY_PROOFS");
  return folder != nullptr && fs::exists(fs::path(folder) / "RowVerdict.vo") ? fs::absolute(folder)
                                                                             : fs::path();
}
#define NEEDS_PROOFS()                                                                                 \
  if (proofs().empty()) {                                                                              \
    const char* required = std::getenv("ASSAY_REQUIRE_PROOF");                                         \
    if (required != nullptr && std::string(required) != "0") FAIL() << "there are no compiled proofs"; \
    GTEST_SKIP() << "no compiled proofs in $ASSAY_PROOFS: nothing was compared";                       \
  }

std::string text_of(const fs::path& file) {
  std::ostringstream all;
  all << std::ifstream(file).rdbuf();
  return all.str();
}

/// What coqc says of a file with this text: empty if it compiles.
std::string coqc(const std::string& name, const std::string& text) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("assay_in_coq_{}_{}", name, ::getpid());
  fs::create_directories(folder);
  std::ofstream(folder / (name + ".v")) << text;
  const std::string line =
      fmt::format("cd {} && coqc -q -Q {} Assay {}.v >said 2>&1", folder.string(), proofs().string(), name);
  const bool compiled = std::system(line.c_str()) == 0;
  if (!compiled) return text_of(folder / "said") + "\nin " + folder.string();
  fs::remove_all(folder);
  return "";
}

struct Row {
  const char* name;
  Dtype dtype;
  Backend backend;
  Claim claim;
  std::function<double(std::int64_t)> logit;
  std::int64_t V;
};

Claim claimed(const std::function<void(Claim&)>& change) {
  Claim c{.height = [](std::int64_t V) { return V; }};
  change(c);
  return c;
}

/// Each row is made so that another term decides: the height, a head of few or many terms, equal logits at
/// the end of a head, depths, absolute errors.
std::vector<Row> rows() {
  const auto spread = [](std::int64_t i) {
    return std::round(64 * 3 * std::sin(1.7 * static_cast<double>(i))) / 64;
  };
  const auto far = [](std::int64_t i) { return i == 0 ? 20.0 : 0.125 * std::cos(static_cast<double>(i)); };
  const auto steps = [](std::int64_t i) { return -0.25 * static_cast<double>(i); };
  const auto high = [](std::int64_t i) { return i == 0 ? 0.0 : -9.75; };
  const auto three = [](std::int64_t i) { return i < 3 ? 12.0 : i < 7 ? 6.5 : i % 2 == 0 ? 0.5 : -1.0; };
  const auto safe = claimed([](Claim&) {});
  const auto online = claimed([](Claim& c) { c.algorithm = Algorithm::online; });
  const auto online_fast = claimed([](Claim& c) { c.algorithm = Algorithm::online, c.exp = Exp::fast; });
  const auto half = claimed([](Claim& c) { c.exp = Exp::half, c.internals = Internals::f16; });
  const auto online_half = claimed(
      [](Claim& c) { c.exp = Exp::half, c.internals = Internals::f16, c.algorithm = Algorithm::online; });
  // Every rescale costs more than a step down, so the lowest logits have the largest terms.
  const auto online_bfloat = claimed(
      [](Claim& c) { c.exp = Exp::half, c.internals = Internals::bf16, c.algorithm = Algorithm::online; });
  const auto falling = [](std::int64_t i) { return 1 - static_cast<double>(i % 128) / 256; };
  const auto stored = claimed([](Claim& c) { c.numerators = Numerators::output; });
  const auto naive = claimed([](Claim& c) { c.algorithm = Algorithm::naive, c.shift = Shift::none; });
  const auto low = [](std::int64_t i) { return -86.0 - 0.0625 * static_cast<double>(i % 40); };
  const auto tree = Claim{.height = [](std::int64_t V) { return V / 2 + 16; }};
  return {{"short_safe", Dtype::f32, Backend::host, safe, spread, 40},
          {"short_online", Dtype::f32, Backend::cuda, online, spread, 33},
          {"spread_safe", Dtype::f32, Backend::cuda, safe, spread, 100},
          {"tree_safe", Dtype::f32, Backend::host, tree, spread, 140},
          {"far_safe", Dtype::f32, Backend::host, safe, far, 96},
          {"steps_safe", Dtype::f32, Backend::host, safe, steps, 96},
          {"steps_online", Dtype::f32, Backend::host, online, steps, 96},
          {"far_online", Dtype::f32, Backend::cuda, online_fast, far, 96},
          {"equal_online", Dtype::f32, Backend::host, online, three, 96},
          {"high_half", Dtype::f16, Backend::host, half, high, 130},
          {"high_online_half", Dtype::f16, Backend::host, online_half, high, 130},
          {"depths_online_bfloat", Dtype::bf16, Backend::host, online_bfloat, falling, 200},
          {"far_stored", Dtype::f16, Backend::host, stored,
           [](std::int64_t i) { return i < 2 ? 0.0 : -8.0 - 0.25 * static_cast<double>(i % 13); }, 100},
          {"low_naive", Dtype::f32, Backend::cuda, naive, low, 90}};
}

/// growth() exceeds e^b - 1 by less than 0.22 b of itself, b being the error of a term or of all together;
/// `inflate` adds the rest.
double slack(const SumTerms& terms, const RowBounds& bounds) {
  return 0x1p-20 + 0.25 * std::min(0.5, std::max(terms.plain, std::ranges::max(bounds.A)));
}

std::string compared(const Row& r) {
  Tensor logits(r.dtype, 1, r.V);
  for (std::int64_t i = 0; i < r.V; ++i) logits.set(0, i, r.logit(i));
  const RowTruth row = truth(logits)[0];
  const Terms t = terms_of(r.claim, r.backend, r.dtype, r.V);
  const RoundedShift shift = shift_of(row, t);
  SumTerms terms;
  const RowBounds bounds = row_bounds(t, row, shift, &terms);
  EXPECT_EQ(outside_coq(t, row, shift), "") << r.name;
  std::string sharper;
  const auto add = [&](double b) {
    sharper +=
        (sharper.empty() ? "" : "; ") + (std::isfinite(b) ? "Some " + coq_dyadic(b) : std::string("None"));
  };
  if (terms.depth > 0) add(terms.depth);
  for (const double head : terms.heads) add(head);
  return fmt::format(
      "Definition row_{0} := {1}.\n"
      "Definition untied_{0} := Eval vm_compute in untied row_{0} {2}\n  {3} {4} {5}\n  [{6}].\n"
      "Lemma {0} : untied_{0} = [].\nProof. reflexivity. Qed.\n",
      r.name, coq_case(t, row, shift), coq_dyadic(slack(terms, bounds)), coq_dyadic(terms.plain),
      coq_dyadic(terms.lost), coq_dyadic(bounds.b), sharper);
}

TEST(InCoq, Bounds) {
  NEEDS_PROOFS();
  std::string text = "Require Import ZArith List Assay.RowFormula Assay.RowVerdict.\nImport ListNotations.\n";
  for (const Row& row : rows()) text += compared(row);
  EXPECT_EQ(coqc("Bounds", text), "") << "0 is plain, 1 the absolute errors, 2 b, from 3 on depths and heads";
}

/// A row of logits, its softmax as right outputs, and what `assay coq` writes of them.
class Verdict {
 public:
  explicit Verdict(const std::string& declared)
      : declared_(declared), folder_(fs::temp_directory_path() / fmt::format("assay_coq_{}", ::getpid())) {
    fs::create_directories(folder_);
    for (std::int64_t j = 0; j < 40; ++j)
      logits_.set(0, j, std::round(128 * std::cos(3.1 * static_cast<double>(j * j))) / 32);
    const RowTruth row = truth(logits_)[0];
    for (std::int64_t j = 0; j < 40; ++j) outputs_.set(0, j, row.lo[static_cast<std::size_t>(j)]);
    largest_ = row.argmax;
  }
  Verdict(const Verdict&) = delete;
  ~Verdict() { fs::remove_all(folder_); }

  double largest() const { return outputs_.at(0, largest_); }
  void multiply_largest(double by) { outputs_.set(0, largest_, largest() * by); }
  /// The exit status of the command.
  int write() const {
    write_npy((folder_ / "x.npy").string(), logits_);
    write_npy((folder_ / "y.npy").string(), outputs_);
    const std::string line =
        fmt::format("cd {} && {} coq --logits x.npy --probs y.npy --declare \"{}\" >said", folder_.string(),
                    ASSAY_COMMAND, declared_);
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string text() const { return text_of(folder_ / "verdict.v"); }

 private:
  std::string declared_;
  fs::path folder_;
  Tensor logits_{Dtype::f32, 1, 40}, outputs_{Dtype::f32, 1, 40};
  std::int64_t largest_ = 0;
};

TEST(InCoq, Verdicts) {
  NEEDS_PROOFS();
  for (const char* declared : {"algorithm=safe", "algorithm=online; exp=fast"}) {
    Verdict v(declared);
    ASSERT_EQ(v.write(), 0) << declared;
    const std::string pass = v.text(), right = coq_dyadic(v.largest());
    EXPECT_EQ(coqc("pass", pass), "") << declared;
    v.multiply_largest(1 + 1e-4);
    ASSERT_EQ(v.write(), 1) << declared;
    EXPECT_EQ(coqc("fail", v.text()), "") << declared;
    // The wrong output in the file that claims PASS.
    const std::size_t at = pass.find(right, pass.find("outputs"));
    ASSERT_NE(at, pass.npos);
    const std::string wrong = std::string(pass).replace(at, right.size(), coq_dyadic(v.largest()));
    EXPECT_NE(coqc("wrong", wrong), "") << declared;
  }
}

}  // namespace
}  // namespace assay
