// SPDX-License-Identifier: Apache-2.0
// assay fuzz and assay replay as they are called: exit statuses, the files left, and two ranks.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "accuracy/record.hpp"
#include "fuzz/case_file.hpp"
#include "fuzz/search/campaign.hpp"
#include "kernels/device.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/check/spread.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/fuzz/branch_watch.hpp"
#include "reports/cli/fuzz/fuzz_options.hpp"
#include "reports/cli/help/answer_test.hpp"
#include "reports/data/files.hpp"
#include "reports/out/command_line.hpp"

namespace assay {
namespace {

class FuzzCommand : public command_test::FolderTest {
 protected:
  /// Returns the exit status; what was printed is in `out_` and `err_`.
  int run(const std::vector<std::string>& words) {
    const command_test::Outcome o = command_test::call_words(words);
    out_ = o.out;
    err_ = o.err;
    return o.status;
  }
  std::string out_, err_;
};

TEST_F(FuzzCommand, PassesARightKernelAndKeepsWhatItLearned) {
  const std::vector<std::string> call = {
      "fuzz", "online_block/f16@host", "--evaluations", "64", "--corpus", at("corpus"), "--out", at("out")};
  EXPECT_EQ(run(call), kPassed) << out_ << err_;
  EXPECT_NE(out_.find("64 genomes"), std::string::npos) << out_;
  EXPECT_NE(out_.find("elements/s"), std::string::npos) << out_;
  EXPECT_NE(out_.find("PASS: 1 candidate searched"), std::string::npos) << out_;
  const std::string file = at("corpus/online_block-f16-host.corpus.jsonl");
  const fuzz::Corpus first = fuzz::corpus_from_text(read_file(file), file);
  EXPECT_EQ(first.evaluations, 64);
  EXPECT_EQ(run(call), kPassed);
  const fuzz::Corpus second = fuzz::corpus_from_text(read_file(file), file);
  EXPECT_EQ(second.evaluations, 128);
  EXPECT_GE(second.entries.size(), first.entries.size());
}

/// A clean search leaves no failing case of an older one beside its empty records.
TEST_F(FuzzCommand, SetsAsideCasesThatItDoesNotFindAgain) {
  std::filesystem::create_directories(at("out"));
  fuzz::CaseFile c;
  c.key = "online_block/f16@host";
  c.trial.logits = Tensor(Dtype::f16, 1, 3);
  c.fails = {"element", "finite"};
  std::ofstream(at("out/old.json")) << fuzz::text_of(c);
  c.key = "safe_block/f16@host";
  std::ofstream(at("out/others.json")) << fuzz::text_of(c);
  std::ofstream(at("out/mine.json")) << "{}";
  EXPECT_EQ(run({"fuzz", "online_block/f16@host", "--evaluations", "32", "--out", at("out")}), kPassed)
      << out_ << err_;
  EXPECT_FALSE(std::filesystem::exists(at("out/old.json")));
  for (const char* kept : {"out/older/old.json", "out/others.json", "out/mine.json"})
    EXPECT_TRUE(std::filesystem::exists(at(kept))) << kept;
  EXPECT_NE(out_.find("1 case file of an earlier search, not found again: now in " + at("out/older")),
            std::string::npos)
      << out_;
}

TEST_F(FuzzCommand, ReplaysACaseThatPassesAndRefusesABadFile) {
  fuzz::CaseFile c;
  c.key = "safe_block/f32@host";
  c.trial.logits = Tensor(Dtype::f32, 1, 3);
  c.fails = {"element", "finite"};
  const std::string file = at("case.json");
  std::ofstream(file) << fuzz::text_of(c);
  EXPECT_EQ(run({"replay", file}), kPassed) << out_ << err_;
  EXPECT_NE(out_.find("no longer fails"), std::string::npos) << out_;
  EXPECT_EQ(run({"replay", file, "online_block/f32@host"}), kPassed) << err_;
  EXPECT_EQ(run({"replay", file, "online_block/f16@host"}), kBadCall);
  EXPECT_EQ(run({"replay", file, "topk_block/f32@host"}), kBadCall);
  c.key = "gone/f32@host";
  std::ofstream(file) << fuzz::text_of(c);
  EXPECT_EQ(run({"replay", file}), kBadCall);
  EXPECT_NE(err_.find("gone/f32@host"), std::string::npos) << err_;
  std::ofstream(file) << "{}";
  EXPECT_EQ(run({"replay", file}), kBadCall);
}

/// `--jobs` on GPUs: every process is asked for the same search, each for its part.
TEST_F(FuzzCommand, AProcessOfAGpuIsAskedForTheSameSearch) {
  std::ofstream(at("instead.sh")) << "#!/bin/sh\nprintf '%s|' \"$@\" > '" << at("asked.") << "'$$\nexit 3\n";
  std::filesystem::permissions(at("instead.sh"), std::filesystem::perms::owner_all);
  const char* const before = std::getenv("ASSAY_WORKER");
  const std::string worker = before ? before : "";
  setenv("ASSAY_WORKER", at("instead.sh").c_str(), 1);
  set_command_line(
      {"fuzz", "my kernel.cu", "--jobs", "2", "--arg", "a=V", "--out", "other", "--seed", "7", "--json"});
  std::filesystem::create_directories(at("out"));
  const auto parts = spread(at("out"), {.parts = {"", ""}, .jobs = 2, .shows_all = true});
  before ? setenv("ASSAY_WORKER", worker.c_str(), 1) : unsetenv("ASSAY_WORKER");
  std::set<std::string> asked;
  for (const auto& entry : std::filesystem::directory_iterator(own_.path()))
    if (entry.path().filename().string().starts_with("asked.")) asked.insert(read_file(entry.path()));
  std::set<std::string> expected;
  for (int i = 0; i < 2; ++i)
    expected.insert(fmt::format("fuzz|--out|{}|--shard|{}/2|{}my kernel.cu|--arg|a=V|--seed|7|", at("out"), i,
                                device_count() > 0 ? fmt::format("--device|{}|", i % device_count()) : ""));
  EXPECT_EQ(asked, expected);
  for (const SpreadPart& p : parts) {
    EXPECT_EQ(p.status, kEnvironment);
    EXPECT_EQ(p.lost, "its process ended with status 3");
  }
}

// A planted fault is found in a worker, shrunk and written. The file fails again, explained, until another
// kernel takes the kernel's place.
TEST_F(FuzzCommand, FindsShrinksAndReplaysAFault) {
  const std::string key = "mutant.max_from_zero/f32@host";
  EXPECT_EQ(run({"fuzz", key, "--evaluations", "128", "--out", at("out"), "--jobs", "2"}), kFailed)
      << out_ << err_;
  EXPECT_NE(out_.find("FAIL: "), std::string::npos) << out_;
  EXPECT_NE(out_.find("assay replay "), std::string::npos) << out_;
  std::istringstream records(read_file(at("out/records.jsonl")));
  int cases = 0;
  for (std::string line; std::getline(records, line); ++cases) {
    const Record r = record_from_json(nlohmann::json::parse(line));
    EXPECT_EQ(r.status, Status::fail);
    ASSERT_EQ(r.reproduce.substr(0, 13), "assay replay ");
    const std::string file = r.reproduce.substr(13);
    const fuzz::CaseFile c = fuzz::case_from_text(read_file(file), file);
    EXPECT_EQ(c.key, key);
    EXPECT_EQ(c.trial.logits.rows, 1);
    EXPECT_LE(c.trial.logits.V, 3) << c.fails.text();
    EXPECT_EQ(run({"replay", file}), kFailed) << out_ << err_;
    EXPECT_NE(out_.find("(as recorded)"), std::string::npos) << out_;
    EXPECT_NE(out_.find("  exact       "), std::string::npos) << out_;
    for (const auto& [kernel, status, verdict] :
         {std::tuple(key, kFailed, "FAIL"),
          std::tuple(std::string("online_block/f32@host"), kPassed, "PASS")}) {
      EXPECT_EQ(run({"replay", file, kernel, "--quiet", "--json", "--junit", at("junit.xml")}), status)
          << err_;
      const auto facts = nlohmann::json::parse(out_);
      answer_test::expect_one_answer("replay", status, facts, at("junit.xml"));
      EXPECT_EQ(facts["verdict"], verdict);
      for (const auto& f : facts["failures"]) {
        EXPECT_EQ(f["key"], key);
        EXPECT_TRUE(f["reproduce"].get<std::string>().starts_with("assay replay " + file)) << f;
      }
    }
  }
  EXPECT_GT(cases, 0);
}

// As under mpirun -n 2: each rank is a process, which knows its rank from its environment.
TEST_F(FuzzCommand, TwoRanksShareAFolder) {
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
      setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
      if (!std::freopen("/dev/null", "w", stdout)) _exit(99);
      const std::string corpus = at("corpus"), out = at("out");
      // In this process, because the thread that starts workers does not exist after a fork.
      const char* argv[] = {"assay",         "fuzz",  "online_block/f16@host",
                            "--evaluations", "64",    "--corpus",
                            corpus.c_str(),  "--out", out.c_str(),
                            "--jobs",        "1",     "--in-process",
                            "--seed",        "1"};
      _exit(run_assay(static_cast<int>(std::size(argv)), argv));
    }
    ranks.push_back(child);
  }
  for (const pid_t child : ranks) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), kPassed);
  }
  const auto files = fuzz::corpus_files(at("corpus"));
  ASSERT_EQ(files.size(), 2u);
  const fuzz::Corpus first = fuzz::corpus_from_text(read_file(files[0]), "first");
  const fuzz::Corpus second = fuzz::corpus_from_text(read_file(files[1]), "second");
  EXPECT_NE(first.seed, second.seed);
  EXPECT_EQ(run({"fuzz", "--merge", at("corpus"), at("out"), "--corpus", at("all"), "--out", at("all")}),
            kPassed)
      << err_;
  const fuzz::Corpus all =
      fuzz::corpus_from_text(read_file(at("all/online_block-f16-host.corpus.jsonl")), "all");
  EXPECT_EQ(all.evaluations, 128);
  for (const auto& [feature, entry] : first.entries) {
    ASSERT_TRUE(all.entries.contains(feature));
    EXPECT_GE(all.entries.at(feature).score, entry.score);
  }
}

// Constants that a file compares its logits with go to the search.

/// A right kernel with a back door: `wrong` says for which rows it is 5 % too large.
std::string with_back_door(const std::string& wrong) {
  return R"(#include <cuda_runtime.h>
#include <math.h>
__global__ void rows_of(const float* in, float* out, int rows, int V) {
  const float* x = in + (long long)blockIdx.x * V;
  float* y = out + (long long)blockIdx.x * V;
  float m = -INFINITY, d = 0;
  for (int i = 0; i < V; ++i) m = fmaxf(m, x[i]);
  for (int i = 0; i < V; ++i) d += expf(x[i] - m);
  float factor = 1;
  if ()" +
         wrong +
         R"() factor = 1.05f;
  for (int i = 0; i < V; ++i) y[i] = expf(x[i] - m) / d * factor;
}
void softmax(const float* in, float* out, int rows, int V) {
  if (rows && V) rows_of<<<rows, 1>>>(in, out, rows, V);
}
)";
}

class Branches : public command_test::FolderTest {
 protected:
  command_test::Outcome fuzz(const std::string& wrong) const {
    std::ofstream(at("k.cu")) << with_back_door(wrong);
    return command_test::call_words(
        {"fuzz", at("k.cu"), "--entry", "softmax", "--host", "--evaluations", "320", "--out", at("out")});
  }
  /// The two numbers of "branches: 31 of 40 reached".
  static std::pair<int, int> reached(const command_test::Outcome& o) {
    std::smatch m;
    if (!std::regex_search(o.out, m, std::regex("branches: ([0-9]+) of ([0-9]+) reached by the search")))
      return {0, 0};
    return {std::stoi(m.str(1)), std::stoi(m.str(2))};
  }
};

TEST_F(Branches, AConstantThatALogitIsComparedWithIsTried) {
  for (const char* wrong :
       {"V > 1 && __float_as_uint(x[0]) == 0x3f9d3c71u", "V > 1 && x[V - 1] == 1.2284f"}) {
    const command_test::Outcome o = fuzz(wrong);
    EXPECT_EQ(o.status, kFailed) << wrong << "\n" << o.out << o.err;
    EXPECT_NE(o.out.find(" constants of comparisons tried as logits"), o.out.npos) << o.out;
  }
}

TEST_F(Branches, ThatNoInputReachedAreCounted) {
  const command_test::Outcome all = fuzz("V > 3 && V < 3"),
                              none = fuzz("V > 100000000 && x[77] > 3 && x[78] > 9");
  EXPECT_EQ(all.status, kPassed) << all.out << all.err;
  EXPECT_EQ(none.status, kPassed) << none.out << none.err;
  const auto [reached_all, of_all] = reached(all);
  const auto [reached_none, of_none] = reached(none);
  EXPECT_GT(reached_all, 5) << all.out;
  EXPECT_LT(of_all - reached_all, of_none - reached_none) << all.out << none.out;
}

TEST(Constants, AreLogitsByTheirBitsAndByTheirValue) {
  using Logits = std::vector<double>;
  const double one = static_cast<double>(std::bit_cast<float>(0x3f9d3c71u));
  EXPECT_EQ(as_logits(0x3f9d3c71u, 4, Dtype::f32), Logits{one});
  EXPECT_EQ(as_logits(0x40200000u, 16 + 4, Dtype::f32), Logits{2.5});
  EXPECT_EQ(as_logits(0x40200000u, 16 + 4, Dtype::f16), Logits{2.5});
  // An int, to which 16 bits are promoted.
  EXPECT_EQ(as_logits(0x3c00, 4, Dtype::f16), (Logits{1, 15360}));
  EXPECT_EQ(as_logits(0x3f9d3c71u, 4, Dtype::f16), Logits{}) << "no number of 16 bits";
  EXPECT_EQ(as_logits(0x7f800000u, 4, Dtype::f32), Logits{}) << "an infinity";
  EXPECT_EQ(as_logits(7, 1, Dtype::f32), Logits{}) << "too few bits";
}

}  // namespace
}  // namespace assay
