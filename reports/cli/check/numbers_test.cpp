// SPDX-License-Identifier: Apache-2.0
// Numbers that no case can have are refused before anything runs, in one line that names the option.
#include <algorithm>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/compare.hpp"

namespace assay {
namespace {

using command_test::Outcome;

Outcome check(const TestFolder& own, const std::string& more) {
  std::vector<std::string> words = command_test::words_of("check safe_block/f32@host --quick " + more);
  words.insert(words.end(), {"--out", own.path().string()});
  return command_test::call_words(words);
}

TEST(Numbers, ThatNoCaseCanHaveAreRefused) {
  const TestFolder own;
  const std::pair<const char*, const char*> all[] = {
      {"--V 3 --family normal_1 --pitch 9223372036854775807",
       "--pitch 9223372036854775807: must be a whole number from 1 to 70368744177664"},
      {"--V 3 --pitch 0", "--pitch 0: must be a whole number from 1 to 70368744177664"},
      {"--V 3 --rows 2 --pitch 4611686018427387904 --only rows", "--pitch 4611686018427387904: must be a "},
      {"--V 3 --rows 4 --pitch 70368744177664 --only rows", "--pitch: rows x pitch exceeds 2^46 elements"},
      {"--V 70368744177665", "--V 70368744177665: must be a whole number from 0 to 70368744177664"},
      {"--V 70368744177664 --rows 5 --only families", "--V and --rows: rows x pitch exceeds 2^46 elements"},
      {"--rows 99999999999999999 --only rows", "--rows 99999999999999999: must be a whole number from 0 to "},
      {"--timeout nan", "--timeout nan: must be a number of seconds from 0.001 to 100000"},
      {"--timeout -1", "--timeout -1: must be a number of seconds from 0.001 to 100000"},
      {"--timeout inf", "--timeout inf: must be a number of seconds from 0.001 to 100000"},
      {"--timeout 20s", "--timeout 20s: must be a number of seconds from 0.001 to 100000"},
  };
  for (const auto& [words, why] : all) {
    const Outcome o = check(own, words);
    EXPECT_EQ(o.status, kBadCall) << words << "\n" << o.out << o.err;
    EXPECT_TRUE(o.err.starts_with(std::string("assay: ") + why)) << words << "\n" << o.err;
    EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
  }
}

/// No row is a case of the group `rows`: the kernel must do nothing. Elsewhere nothing would be judged.
TEST(Numbers, NoRowsAreACaseOnlyWhereAGroupHasThem) {
  const TestFolder own;
  for (const char* group : {"batch", "calls", "families", "layout", "streams"}) {
    const Outcome o = check(own, std::string("--rows 0 --only ") + group);
    EXPECT_EQ(o.status, kBadCall) << group << "\n" << o.out;
    EXPECT_EQ(o.err, "assay: the plan is empty: no case of these groups is what was asked for\n");
  }
  for (const char* more : {"--rows 0", "--rows 0 --only rows", "--rows 0 --V 3"}) {
    EXPECT_EQ(check(own, more).status, kPassed) << more;
    const std::vector<Record> records = read_records(own.path() / "records.jsonl");
    EXPECT_GT(records.size(), 0u);
    for (const Record& r : records) EXPECT_EQ(r.group, "rows") << more;
  }
}

}  // namespace
}  // namespace assay
