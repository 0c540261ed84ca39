// SPDX-License-Identifier: Apache-2.0
// assay check as it is called: what only code can ask. The rest is in checks.calls.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "accuracy/conformance/inputs.hpp"
#include "kernels/declaration.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/records/compare.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class CheckCommand : public command_test::FolderTest {
 protected:
  /// Runs `assay check LINE --threads 1 --out FOLDER`. Returns the exit status; the output is in out and err.
  int check(const std::string& line) {
    const command_test::Outcome o = run("check " + line + " --threads 1", "out");
    out = o.out, err = o.err;
    return o.status;
  }
  std::string out, err;
};

TEST_F(CheckCommand, ARightKernelPasses) {
  ASSERT_EQ(check("safe_block/f32@host --quick --only shapes --only layout --only streams --only calls"),
            kPassed)
      << out;
  // The verdict, in the terminal and on the page, says what a quick check left out.
  std::set<std::int64_t> lengths;
  std::int64_t rows = 0;
  for (const Record& r : read_records(at("out/records.jsonl")))
    if (r.V >= 1 && r.V <= 4096 && r.rows > 0) lengths.insert(r.V), rows = std::max(rows, r.rows);
  ASSERT_TRUE(rows > 1000 && rows < 10000) << rows;
  std::string most = std::to_string(rows);
  most.insert(1, ",");
  const std::string quick = "quick: " + std::to_string(lengths.size()) +
                            " of 4,096 row lengths to 4,096 and 4 of 40 vocabularies were tried, and up to " +
                            most + " rows";
  EXPECT_TRUE(out.starts_with("PASS safe_block/f32@host; " + quick + "\n")) << out;
  EXPECT_NE(read_file(at("out/index.html")).find(quick.substr(7)), std::string::npos);
  // A pass proposes what to do next, as a command that can be run.
  const std::string next =
      "\nnext, search for an input that breaks it: assay fuzz safe_block/f32@host --time 5m\n";
  EXPECT_TRUE(out.ends_with(next)) << out;
  EXPECT_TRUE(fs::exists(at("out/summary.md")));
  const auto all = read_records(at("out/records.jsonl"));
  EXPECT_GT(all.size(), 400u);
  for (const Record& r : all) {
    EXPECT_FALSE(r.group.empty());
    // A worker can make every case except a delayed producer and an in-place launch.
    EXPECT_TRUE(r.status == Status::pass || r.setup == "in_place" || r.setup == "delayed_producer")
        << r.reason << " " << r.reproduce;
  }
}

TEST_F(CheckCommand, HelpListsTheWordsOfADeclaration) {
  EXPECT_EQ(check("--help"), kPassed);
  std::istringstream all(declaration_words());
  int words = 0;
  for (std::string line; std::getline(all, line); ++words)
    EXPECT_NE(out.find(line + "\n"), std::string::npos) << line;
  EXPECT_GT(words, 20);
}

TEST_F(CheckCommand, SaysNothingTwiceAndNothingForOthers) {
  const char* const asked = std::getenv("RC_PARAMS");
  const std::string before = asked ? asked : "";
  unsetenv("RC_PARAMS");
  EXPECT_EQ(check("safe_block/f32@host --quick --only properties --seed 3"), kPassed) << out;
  EXPECT_EQ((out + err).find("Using configuration"), std::string::npos) << err;
  EXPECT_STREQ(std::getenv("RC_PARAMS"), "seed=3");
  unsetenv("RC_PARAMS");
  if (asked) setenv("RC_PARAMS", before.c_str(), 1);
}

TEST(Sandbox, GroupsThatRanOutsideAreNamed) {
  std::vector<std::pair<std::string, std::string>> one = {{"host", "x"}, {"sandbox", "bubblewrap"}};
  say_not_sandboxed(one, {});
  EXPECT_EQ(not_sandboxed(one), "");
  say_not_sandboxed(one, {"races"});
  EXPECT_EQ(not_sandboxed(one), "the group races: the tool runs a kernel outside of any sandbox");
  EXPECT_EQ(one[0].second, "x");
  std::vector<std::pair<std::string, std::string>> none = {{"sandbox", "none: --no-sandbox"}};
  say_not_sandboxed(none, {"races", "sanitize"});
  EXPECT_EQ(not_sandboxed(none), "--no-sandbox");
}

// A batch of kernels: one that dies while it is loaded does not take the others with it, and kernels of one
// name in several files are told apart.

namespace fs = std::filesystem;

std::string plugin_fixture(const std::string& name) {
  return std::string(ASSAY_FIXTURES) + "/" + name + ".so";
}

TEST(Batch, KernelsOfOneNameInTwoFilesAreToldApart) {
  if (!fs::exists(plugin_fixture("fixture_declared"))) GTEST_SKIP();
  const TestFolder own;
  fs::create_directories(own.path() / "other");
  std::vector<std::string> words;
  for (const char* name : {"a.so", "b.so", "other/a.so"}) {
    fs::copy_file(plugin_fixture("fixture_declared"), own.path() / name);
    words.push_back((own.path() / name).string());
  }
  std::set<std::string> keys, names, files;
  for (const Target& t : resolve_targets({words, {}})) {
    keys.insert(t.variant.key());
    EXPECT_EQ(t.make().key(), t.variant.key());
    names.insert(t.unique_name());
    // The same file alone, as in a later run.
    const Target alone = resolve_targets({{t.file}, {}}).at(0);
    EXPECT_EQ(alone.variant.variant, "c99_softmax");
    files.insert(alone.unique_name());
  }
  EXPECT_EQ(keys, (std::set<std::string>{"a.c99_softmax/f32@plugin", "a.c99_softmax-2/f32@plugin",
                                         "b.c99_softmax/f32@plugin"}));
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(files.size(), 3u) << "a corpus must not be shared by kernels of several files";
}

// The seed that `assay check` draws: it is printed, it repeats the run, and who has memorised the inputs of
// another seed is found.

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
  const Outcome answer = run(line + " --json", "d");
  const nlohmann::json document = nlohmann::json::parse(answer.out);
  EXPECT_EQ(document["environment"]["seed from"], "drawn for this run") << answer.out;
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

// What a terminal shows while a file is compiled and checked; a log shows no compilation.

using namespace process_test;

/// A terminal of this test's own. What is written to `name` is read from `master`.
class Terminal {
 public:
  Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    if (master_ >= 0 && grantpt(master_) == 0 && unlockpt(master_) == 0)
      if (const char* const name = ptsname(master_)) name_ = name;
  }
  ~Terminal() {
    if (master_ >= 0) close(master_);
  }
  const std::string& name() const { return name_; }
  /// All that is written until the last writer has closed it.
  std::string shown() const {
    std::string text;
    char part[4096];
    for (ssize_t n; (n = read(master_, part, sizeof part)) > 0;)
      text.append(part, static_cast<std::size_t>(n));
    return text;
  }

 private:
  int master_;
  std::string name_;
};

class ProgressLine : public testing::Test {
 protected:
  std::vector<std::string> check() const {
    return {"check",
            std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/shuffle_rows.cu",
            "--host",
            "--entry",
            "void softmax_rows(float* out, const float* inp, int N, int C)",
            "--only",
            "shapes",
            "--V",
            "33",
            "--rows",
            "3",
            "--build-dir",
            (folder_.path() / "build").string(),
            "--out",
            (folder_.path() / "out").string()};
  }
  TestFolder folder_;
};

TEST_F(ProgressLine, NamesWhatIsCompiledAndThenGivesWayToTheBar) {
  if (!has_command()) GTEST_SKIP() << "the program is not built";
  const Terminal terminal;
  if (terminal.name().empty()) GTEST_SKIP() << "this machine gives no terminals";
  std::vector<std::string> words = check();
  words.insert(words.begin(), ASSAY_COMMAND);
  const pid_t pid = start(words, {}, (folder_.path() / "stdout").string(), terminal.name());
  const std::string shown = terminal.shown();
  EXPECT_EQ(wait_for(pid).status, 0) << shown;
  std::size_t at = 0;
  // In this order; each line begins where the one before it began.
  for (const char* const text : {"\rcompiling the host executor, once for this compiler: file 1 of ",
                                 "\rcompiling the host executor, once for this compiler: file 2 of ",
                                 "\rcompiling shuffle_rows.cu ...", "\r ", "\r[####"}) {
    const std::size_t next = shown.find(text, at);
    ASSERT_NE(next, shown.npos) << text << "\nis not in\n" << shown.substr(at);
    at = next + 1;
  }
  // The second time nothing is compiled. With another macro the file is, but a log is no terminal.
  for (const char* const macro : {"", "-DANOTHER"}) {
    words = check();
    if (*macro) words.insert(words.end(), {"--nvcc-flags", macro});
    const Finished e = run(words);
    EXPECT_EQ(e.status, 0) << e.err;
    EXPECT_EQ(e.err.find("compiling"), e.err.npos) << e.err;
  }
}

}  // namespace
}  // namespace assay
