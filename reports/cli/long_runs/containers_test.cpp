// SPDX-License-Identifier: Apache-2.0
// Two containers that share a folder have processes of equal numbers: each is process 1 of its own. So the
// names of files that are being written must not be made of such numbers.
#include <set>
#include <string>
#include <vector>

#include "reference/file_writing.hpp"
#include "reports/cli/long_runs/process_test.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using namespace process_test;

/// The words that make a program process 1 of a namespace; empty if this machine lets nobody do that.
std::vector<std::string> as_process_1() {
  const TestFolder folder;
  const std::string out = (folder.path() / "out").string();
  for (std::vector<std::string> words :
       {std::vector<std::string>{"unshare", "--pid", "--fork", "--mount-proc"},
        std::vector<std::string>{"unshare", "--user", "--map-root-user", "--pid", "--fork",
                                 "--mount-proc"}}) {
    std::vector<std::string> ask = words;
    ask.insert(ask.end(), {"sh", "-c", "test $$ = 1"});
    if (wait_for(start(ask, {}, out, out)).status == 0) return words;
  }
  return {};
}

TEST(UniquePart, NoNameComesTwice) {
  std::set<std::string> names;
  for (int n = 0; n < 1000; ++n) {
    const std::string name = unique_part("folder/x.jsonl").string();
    EXPECT_TRUE(name.starts_with("folder/x.jsonl.") && name.ends_with(".part")) << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 1000u);
}

/// A forked process has all that its parent has: a name that is counted or drawn from a seed would come
/// twice.
TEST(UniquePart, AForkedProcessHasOtherNames) {
  (void)unique_part("x");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string name = unique_part("x").string();
    _exit(write(ends[1], name.data(), name.size()) == static_cast<ssize_t>(name.size()) ? 0 : 1);
  }
  const std::string own = unique_part("x").string();
  close(ends[1]);
  std::string of_child(own.size(), '\0');
  EXPECT_EQ(read(ends[0], of_child.data(), of_child.size()), static_cast<ssize_t>(own.size()));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_NE(of_child, own);
}

class Containers : public command_test::FolderTest {
 protected:
  void SetUp() override {
    if (!has_command()) GTEST_SKIP() << "no " ASSAY_COMMAND;
    if (!fs::exists("/usr/bin/unshare") || (first_ = as_process_1()).empty())
      GTEST_SKIP() << "this machine makes no namespace of processes (unshare --pid)";
  }

  /// Runs the same command twice at a time, each as process 1, and returns what the two print.
  std::vector<std::string> twice(const std::vector<std::string>& command) const {
    std::vector<std::string> words = first_;
    words.push_back(ASSAY_COMMAND);
    words.insert(words.end(), command.begin(), command.end());
    const pid_t pids[] = {start(words, {}, at("out0"), at("err0")), start(words, {}, at("out1"), at("err1"))};
    std::vector<std::string> printed;
    for (int n = 0; n < 2; ++n) {
      EXPECT_EQ(wait_for(pids[n]).status, 0) << read_file(at("err" + std::to_string(n)));
      printed.push_back(read_file(at("out" + std::to_string(n))));
    }
    return printed;
  }
  /// The unfinished files below a folder.
  std::vector<std::string> parts(const std::string& folder) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().filename().string().find(".part") != std::string::npos)
        all.push_back(entry.path().string());
    return all;
  }
  std::vector<std::string> first_;
};

TEST_F(Containers, CompileIntoOneCache) {
  std::vector<std::string> words = {
      "adapter",
      std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/shuffle_rows.cu",
      "--host",
      "--entry",
      "void softmax_rows(float* out, const float* inp, int N, int C)",
      "--build-dir",
      at("cache")};
  const std::vector<std::string> printed = twice(words);
  EXPECT_EQ(printed[0], printed[1]);
  ASSERT_TRUE(printed[0].starts_with(at("cache"))) << printed[0];
  EXPECT_TRUE(fs::exists(printed[0].substr(0, printed[0].find('\n'))));
  EXPECT_EQ(parts(at("cache")), std::vector<std::string>());
  // The shared object of each may go to one place.
  words.insert(words.end(), {"--out", at("libsoftmax.so")});
  twice(words);
  EXPECT_EQ(read_file(at("libsoftmax.so")), read_file(printed[0].substr(0, printed[0].find('\n'))));
  EXPECT_EQ(parts(own_.path().string()), std::vector<std::string>());
}

TEST_F(Containers, CheckWithOneCache) {
  // Each writes to a folder of its own; the cache is the same.
  std::vector<std::string> words = first_;
  words.insert(
      words.end(),
      {ASSAY_COMMAND, "check", std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/shuffle_rows.cu",
       "--host", "--entry", "void softmax_rows(float* out, const float* inp, int N, int C)", "--build-dir",
       at("cache"), "--only", "shapes", "--V", "33", "--rows", "3"});
  std::vector<pid_t> pids;
  for (const char* n : {"0", "1"}) {
    std::vector<std::string> mine = words;
    mine.insert(mine.end(), {"--out", at(std::string("check") + n)});
    pids.push_back(start(mine, {}, at(std::string("out") + n), at(std::string("err") + n)));
  }
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(wait_for(pids[static_cast<std::size_t>(n)]).status, 0)
        << read_file(at("err" + std::to_string(n)));
    const std::string said = read_file(at("out" + std::to_string(n)));
    EXPECT_NE(said.find("PASS softmax_rows/f32@plugin\n"), said.npos) << said;
  }
  EXPECT_EQ(parts(at("cache")), std::vector<std::string>());
}

}  // namespace
}  // namespace assay
