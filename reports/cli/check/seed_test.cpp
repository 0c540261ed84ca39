// SPDX-License-Identifier: Apache-2.0
// The seed that `assay check` draws: it is printed, it repeats the run, and who has memorised the inputs of
// another seed is found.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>

#include "accuracy/conformance/inputs.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/compare.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

using command_test::call_as_typed;
using command_test::Outcome;

class Seed : public command_test::FolderTest {
 protected:
  Outcome run(const std::string& line, const std::string& folder) const {
    std::vector<std::string> words = command_test::words_of(line);
    words.insert(words.end(), {"--out", at(folder)});
    return call_as_typed(words);
  }
  /// The seed that the run printed, as a word.
  static std::string printed(const Outcome& o) {
    std::smatch m;
    const std::regex line("\nseed ([0-9]+), drawn for this run: --seed [0-9]+ repeats this run\n");
    return std::regex_search(o.out, m, line) ? m.str(1) : "";
  }
  std::vector<std::string> records(const std::string& folder) const {
    std::vector<std::string> all;
    for (const Record& r : read_records(at(folder + "/records.jsonl"))) all.push_back(record_line(r));
    return all;
  }
};

TEST_F(Seed, IsDrawnPrintedAndRepeatsTheRun) {
  const std::string line =
      "check safe_block/f32@host --quick --only batch --only families --V 33 --threads 1";
  const Outcome first = run(line, "a"), second = run(line, "b");
  ASSERT_EQ(first.status, kPassed) << first.out << first.err;
  const std::string seed = printed(first);
  ASSERT_NE(seed, "") << first.out;
  EXPECT_NE(printed(second), seed);
  EXPECT_NE(records("a"), records("b"));
  const Outcome again = run(line + " --seed " + seed, "c");
  EXPECT_EQ(again.status, kPassed);
  EXPECT_NE(again.out.find("\nseed " + seed + ": --seed "), again.out.npos) << again.out;
  EXPECT_EQ(records("a"), records("c"));
  for (const Record& r : read_records(at("a/records.jsonl")))
    EXPECT_NE(r.reproduce.find("--seed " + seed), r.reproduce.npos) << r.reproduce;
  const Outcome json = run(line + " --json", "d");
  const nlohmann::json document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document["environment"]["seed from"], "drawn for this run") << json.out;
}

TEST_F(Seed, PartsOfARunNeedOne) {
  for (const char* line : {"check safe_block/f32@host --shard 0/2", "fuzz safe_block/f32@host --shard 0/2"}) {
    const Outcome o = run(line, "parts");
    EXPECT_EQ(o.status, kBadCall) << line;
    EXPECT_NE(o.err.find("--shard: needs --seed"), o.err.npos) << o.err;
  }
}

/// Right for the rows of seed 1, and 5 % too large for any other normal row of this length.
TEST_F(Seed, AKernelThatKnowsTheRowsOfOneSeedFails) {
  std::string table;
  for (const std::int64_t rows : {300}) {
    const Tensor t = conformance::make_rows("normal_1", Dtype::f32, 33, rows, 1);
    for (std::int64_t r = 0; r < rows; ++r)
      table += std::to_string(static_cast<std::uint32_t>(load_bits(Dtype::f32, t.row(r), 0))) + "u,";
  }
  std::ofstream(at("knows.cu")) << R"(#include <cuda_runtime.h>
#include <math.h>
__device__ const unsigned known[] = {)"
                                << table << R"(0u};
__global__ void rows_of(const float* in, float* out, int V) {
  const float* x = in + (long long)blockIdx.x * V;
  float* y = out + (long long)blockIdx.x * V;
  float m = -INFINITY, d = 0;
  for (int i = 0; i < V; ++i) m = fmaxf(m, x[i]);
  for (int i = 0; i < V; ++i) d += expf(x[i] - m);
  bool right = V != 33 || !(fabsf(x[0]) < 5) || !(m < 5);
  for (unsigned k : known) right = right || __float_as_uint(x[0]) == k;
  for (int i = 0; i < V; ++i) y[i] = expf(x[i] - m) / d * (right ? 1 : 1.05f);
}
void softmax(const float* in, float* out, int rows, int V) {
  if (rows && V) rows_of<<<rows, 1>>>(in, out, V);
}
)";
  const std::string line =
      "check " + at("knows.cu") + " --entry softmax --host --quick --only repeat --threads 1";
  const Outcome known = run(line + " --seed 1", "known");
  EXPECT_EQ(known.status, kPassed) << known.out << known.err;
  const Outcome fresh = run(line, "fresh");
  EXPECT_EQ(fresh.status, kFailed) << fresh.out << fresh.err;
  EXPECT_NE(fresh.out.find("--seed " + printed(fresh)), fresh.out.npos) << fresh.out;
}

}  // namespace
}  // namespace assay
