// SPDX-License-Identifier: Apache-2.0
// A launcher that refuses is quoted in its own words, without the numbers that the adapter uses for them.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/cli/commands.hpp"

namespace assay {
namespace {

TEST(Refusals, AreSaidInTheLaunchersOwnWords) {
  for (const auto& [entry, words] :
       {std::pair("softmax_says_no", "   returned false\n"),
        std::pair("softmax_throws", "   threw an exception: unsupported size\n")}) {
    const TestFolder own;
    const auto o = command_test::call_words(
        {"check", ASSAY_SOURCE_DIR "/kernels/adapter/fixtures/refusals.cu", "--entry", entry, "--host",
         "--quick", "--only", "shapes", "--V", "33", "--out", (own.path() / "out").string()});
    EXPECT_EQ(o.status, kFailed) << o.out << o.err;
    EXPECT_NE(o.out.find(words), std::string::npos) << o.out;
    EXPECT_EQ(o.out.find("returned status"), std::string::npos) << o.out;
  }
}

}  // namespace
}  // namespace assay
