// SPDX-License-Identifier: Apache-2.0
// What a terminal shows while a file is compiled and checked; a log shows no compilation.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "reports/cli/long_runs/process_test.hpp"

namespace assay {
namespace {

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
