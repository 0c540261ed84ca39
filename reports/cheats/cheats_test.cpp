// SPDX-License-Identifier: Apache-2.0
// The table of cheats is read and obeyed; every cheat gets the answer that the table expects.
#include "reports/cheats/cheats.hpp"

#include <gtest/gtest.h>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay::cheats {
namespace {

std::string refusal(const std::string& table) {
  try {
    parse(table);
  } catch (const InputError& e) {
    return e.what();
  }
  return "none";
}

TEST(CheatTable, IsRefusedWhereItSaysNothingOrNonsense) {
  EXPECT_EQ(refusal(""), "cheats.txt:0: holds no cheat");
  EXPECT_EQ(refusal("run check x"), "cheats.txt:1: the first line must be `cheat NAME`");
  EXPECT_EQ(refusal("cheat a\nwhat b\nrun check x\n"), "cheats.txt:3: the cheat a expects nothing");
  EXPECT_EQ(refusal("cheat a\nstatus 0\n"), "cheats.txt:2: the cheat a has no line `what`");
  EXPECT_EQ(refusal("cheat a\nwhat b\nstop x\nstatus 0\n"), "cheats.txt:3: stop needs a run behind it");
  EXPECT_EQ(refusal("cheat a\nwhat b\nstatus 0\nfly away\n"), "cheats.txt:4: no step is called fly");
  EXPECT_EQ(refusal("cheat a\nwhat b\nstatus 0\ncheat a\n"), "cheats.txt:4: there is a cheat a already");
  EXPECT_EQ(refusal("cheat a\nwhat b\nguard none\n"), "cheats.txt:3: a guard is `any`");
}

/// What a runner says of a table of one cheat.
Verdict verdict_of(const std::string& steps, const std::filesystem::path& folder) {
  const std::vector<Cheat> table = parse("cheat one\nwhat tries the runner\n" + steps);
  return run(table[0], Guard::bubblewrap, {ASSAY_COMMAND, folder});
}

TEST(CheatRunner, HoldsEachAnswerToTheTable) {
  const TestFolder folder;
  EXPECT_EQ(verdict_of("run list --ops-that-are-none\nstatus 2\n", folder.path() / "a").outcome,
            Status::pass);
  const Verdict status = verdict_of("run list --families\nstatus 1\n", folder.path() / "b");
  EXPECT_EQ(status.outcome, Status::fail);
  EXPECT_EQ(status.command, "assay list --families");
  EXPECT_EQ(status.why.find("line 4: ends with 0 and not with 1"), 0u) << status.why;
  EXPECT_EQ(verdict_of("run list --families\nsays no such words\n", folder.path() / "c").outcome,
            Status::fail);
  EXPECT_EQ(verdict_of("run list --families\nlacks normal_1\n", folder.path() / "d").outcome, Status::fail);
  const std::string written = "write at/this | old\nedit at/this | old | new\nrun list --families\n";
  EXPECT_EQ(
      verdict_of(written + "holds at | new\nholds_not at/this | old\nabsent other\n", folder.path() / "e")
          .outcome,
      Status::pass);
  EXPECT_EQ(verdict_of(written + "holds_not at | new\n", folder.path() / "f").outcome, Status::fail);
  EXPECT_EQ(verdict_of(written + "absent at/this\n", folder.path() / "g").outcome, Status::fail);
}

class Cheats : public testing::TestWithParam<std::string> {};

TEST_P(Cheats, GetTheAnswerThatTheTableExpects) {
  for (const Cheat& c : all())
    if (c.name == GetParam())
      for (const Guard guard : guards(c)) {
        const TestFolder folder;
        const Verdict v = run(c, guard, {ASSAY_COMMAND, folder.path() / "cheat"});
        EXPECT_NE(v.outcome, Status::fail) << name(guard) << ": " << v.command << "\n" << v.why;
        if (v.outcome == Status::not_run) std::printf("%s: not run: %s\n", name(guard), v.why.c_str());
      }
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (const Cheat& c : all()) names.push_back(c.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, Cheats, testing::ValuesIn(names()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace assay::cheats
