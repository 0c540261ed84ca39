// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "reports/terminal/answer.hpp"

namespace assay {
namespace {

TEST(Colour, IsOnTheVerdictThatBeginsALine) {
  EXPECT_EQ(coloured("PASS safe\nPASSED\n"), "\033[1;32mPASS\033[0m safe\nPASSED\n");
  EXPECT_EQ(coloured("a FAIL\nFAIL: x"), "a FAIL\n\033[1;31mFAIL\033[0m: x");
  EXPECT_EQ(coloured("NOT RUN: x\n\n"), "\033[1;33mNOT RUN\033[0m: x\n\n");
  EXPECT_EQ(coloured(""), "");
}

/// Sets a variable, and gives it its old value back.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, had_ = true;
    if (value)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
  ~Variable() {
    if (had_)
      setenv(name_, old_.c_str(), 1);
    else
      unsetenv(name_);
  }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

TEST(Colour, IsForATerminalThatHasIt) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "this machine has no pseudo-terminals";
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  {
    const Variable none("NO_COLOR", nullptr), term("TERM", "xterm");
    EXPECT_TRUE(wants_colour(terminal));
    EXPECT_FALSE(wants_colour(pipe_ends[1]));
  }
  {
    const Variable none("NO_COLOR", "1"), term("TERM", "xterm");
    EXPECT_FALSE(wants_colour(terminal));
  }
  {
    const Variable none("NO_COLOR", ""), term("TERM", "dumb");
    EXPECT_FALSE(wants_colour(terminal));
  }
  for (const int end : {terminal, pipe_ends[0], pipe_ends[1]}) close(end);
}

}  // namespace
}  // namespace assay
