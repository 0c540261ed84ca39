// SPDX-License-Identifier: Apache-2.0
// Messages about bad input are one line, whatever was in the input.
#include "reference/error.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(InputErrors, AreOneLineOfPrintableText) {
  const std::string quoted = std::string("logits: 'a\nb\r\tc\x1b[0m") + '\0' + "\x7f' is not a number";
  const std::string shown = "logits: 'a?b??c?[0m?\?' is not a number";
  EXPECT_EQ(std::string(InputError(quoted).what()), shown);
  EXPECT_EQ(std::string(EnvironmentError(quoted).what()), shown);
  // Letters of other languages stay.
  EXPECT_STREQ(InputError("\xc3\xa9t\xc3\xa9.cu: no such file").what(), "\xc3\xa9t\xc3\xa9.cu: no such file");
}

}  // namespace
}  // namespace assay
