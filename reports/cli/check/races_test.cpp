// SPDX-License-Identifier: Apache-2.0
// What the group `races` makes of racecheck's answers. A script in PATH takes the place of compute-sanitizer:
// no GPU is needed, and no kernel runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/bench.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/process/environment.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/cli/check/watched.hpp"
#include "reports/cli/options.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

const char* const kClean = "echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)'\n";

/// The records that `assay check --only launches` writes, and its exit status.
std::string child(int passed, int outside) {
  std::string lines;
  for (int i = 0; i < passed + outside; ++i) {
    Record r = blank_record(*find_variant("safe_block/f32@host"), "constant", Op::softmax,
                            shape_of(1, 1 + i, {}), 1);
    r.group = conformance::kLaunchesGroup;
    r.status = i < passed ? Status::pass : Status::unsupported;
    if (i >= passed) r.why = Why::domain, r.reason = "domain: V";
    lines += "echo '" + record_line(r).substr(0, record_line(r).size() - 1) + "' >> \"$out/records.jsonl\"\n";
  }
  return "mkdir -p \"$out\"\n" + lines;
}
const char* const kChildsStatus = "exit 3\n";

/// The launcher of a kernel in a sandbox. Nothing is launched here.
class Sandboxed : public Launcher {
 public:
  LaunchOutcome launch(const Variant&, const Problem&, Images&, const LaunchOptions&) override { return {}; }
  std::array<LaunchOutcome, 2> launch_both(const Variant&, const Problem&, std::array<Images*, 2>,
                                           const LaunchOptions&) override {
    return {};
  }
  std::string cannot(const LaunchOptions&) const override { return {}; }
  bool on_device() const override { return true; }
  Guard guard() const override { return Guard::bubblewrap; }
  void restart() override {}
};

/// What the parser of a command does with this option.
void give(const std::string& option) {
  CLI::App command;
  add_sandbox(command);
  command.parse(option);
}

class Races : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("assay-races-" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = std::getenv("PATH") ? std::getenv("PATH") : "";
    // The target among the script's words names what it does.
    const fs::path tool = folder_ / "compute-sanitizer";
    std::ofstream(tool)
        << "#!/bin/sh\ncd '" << folder_.string()
        << "'\necho \"$*\" >> calls\nfor word in \"$@\"; do\n"
           "  [ \"$last\" != --out ] || out=$word\n  last=$word\ndone\nfor word in \"$@\"; do\n"
           "  if [ -f \"$word.does\" ]; then . \"./$word.does\"; fi\ndone\n";
    fs::permissions(tool, fs::perms::owner_all);
    setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    fs::remove_all(folder_);
  }

  /// From now on the tool does this for the target.
  void does(const std::string& target, const std::string& lines) {
    std::ofstream(folder_ / (target + ".does")) << lines;
  }
  /// How often the tool was called.
  std::ptrdiff_t calls() const {
    std::ifstream in(folder_ / "calls");
    return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
  }

  /// A variant that a source file for a GPU was compiled to.
  static Variant of_a_file(const std::string& target, const std::string& plugin = {}) {
    Variant v = *find_variant("safe_block/f32@host");
    v.backend = Backend::plugin;
    v.variant = target;
    v.origin = target;
    v.launcher = std::make_shared<Sandboxed>();
    OneFile file;
    file.source = target;
    file.declaration = plugin.empty() ? "" : "max_V=64";
    remember_source(v, file, {}, plugin);
    return v;
  }

  /// The group's record. `asked`: the target of the run that begins with the check, or empty.
  static Record record(const std::string& target, const std::string& asked = {},
                       std::shared_ptr<conformance::Hangs> hangs = {}, const std::string& plugin = {}) {
    const Variant v = of_a_file(target, plugin);
    if (!asked.empty()) begin_races(v, asked, 1);
    conformance::ConformanceOptions o;
    o.target = target;
    o.hangs = std::move(hangs);
    conformance::Bench bench(v, o);
    const conformance::Group group = races_group();
    conformance::Patience patience;
    Record made;
    bench.enter(group, patience, [&](std::size_t, Record r) { made = std::move(r); });
    for (const conformance::Unit& u : group.plan({v, conformance::Extent::quick, {}, 1, false}))
      u.run(bench, u.cases);
    return made;
  }

  fs::path folder_;
  std::string path_;
};

/// What the record's failed check says.
std::string detail_of(const Record& r) {
  const CheckResult* const failed = first_failed(r);
  return failed ? failed->detail : std::string();
}

bool refused_by(Check check, const Record& r) {
  const CheckResult* const failed = first_failed(r);
  return r.status == Status::fail && failed && failed->check == check;
}

TEST_F(Races, ARaceIsRefused) {
  does("racy.cu",
       child(9, 0) +
           "echo '========= Error: Race reported between Write access at soft+0x10'\n"
           "echo '========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)'\nexit 86\n");
  const Record r = record("racy.cu");
  EXPECT_TRUE(refused_by(Check::race, r)) << name(r.status) << " " << r.reason;
  EXPECT_NE(detail_of(r).find("Race reported"), std::string::npos) << detail_of(r);
}

TEST_F(Races, WhatWasWatchedWithoutARacePasses) {
  does("clean.cu", child(9, 0) + kClean + kChildsStatus);
  const Record r = record("clean.cu");
  EXPECT_EQ(r.status, Status::pass) << r.reason;
  EXPECT_NE(find_check(r, Check::race), nullptr);
  // The tool's target can not run in a sandbox, whatever the kernel's other cases do.
  EXPECT_EQ(r.where, Where::not_sandboxed);
}

TEST_F(Races, TheToolWatchesNoCompiler) {
  does("built.so#soft", child(9, 0) + kClean + kChildsStatus);
  EXPECT_EQ(record("compiled.cu", "compiled.cu --declare V_multiple=2", {}, "built.so#soft").status,
            Status::pass);
  std::ifstream in(folder_ / "calls");
  const std::string call{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(call.find(" check built.so#soft --declare max_V=64 --declare V_multiple=2 --only launches"),
            std::string::npos)
      << call;
  EXPECT_EQ(call.find("compiled.cu"), std::string::npos) << call;
}

TEST_F(Races, NothingIsWatchedOutsideIfASandboxIsDemanded) {
  if (!why_not_sandboxed().empty()) GTEST_SKIP() << why_not_sandboxed();
  does("boxed.cu", child(9, 0) + kClean + kChildsStatus);
  give("--sandbox");
  const Record r = record("boxed.cu", "boxed.cu");
  give("");
  EXPECT_EQ(calls(), 0);
  EXPECT_EQ(r.status, Status::unsupported) << r.reason;
  EXPECT_EQ(r.reason, "races: --sandbox was given, and the tool runs a kernel outside of any sandbox");
  EXPECT_EQ(record("boxed.cu").status, Status::pass);
}

TEST_F(Races, AnEarlyAnswerCountsIfEveryLaunchWasWatched) {
  does("early.cu", child(9, 0) + kClean + kChildsStatus);
  EXPECT_EQ(record("unused.cu", "early.cu").status, Status::pass);
  EXPECT_EQ(calls(), 1);
  // Launches that lie outside the contract were not watched: the tool runs again within it.
  does("some.cu", child(7, 2) + kClean + kChildsStatus);
  does("within.cu", child(9, 0) + kClean + kChildsStatus);
  EXPECT_EQ(record("within.cu", "some.cu").status, Status::pass);
  EXPECT_EQ(calls(), 3);
  does("none.cu", child(0, 9) + kClean + "exit 1\n");
  const Record r = record("none.cu");
  EXPECT_EQ(r.status, Status::unsupported) << r.reason;
  EXPECT_NE(r.reason.find("none of the launches for racecheck"), std::string::npos) << r.reason;
}

TEST_F(Races, AKernelThatHangsIsNotWatchedToItsEnd) {
  const auto hangs = std::make_shared<conformance::Hangs>();
  does("endless.cu", "touch begun\nsleep 600 & sleep 600\ntouch ended\n");
  std::thread later([&] {
    while (!fs::exists(folder_ / "begun")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (int i = 0; i < conformance::Hangs::kShown; ++i) hangs->saw({});
  });
  const Record r = record("endless.cu", "endless.cu", hangs);
  later.join();
  EXPECT_EQ(r.status, Status::not_run);
  EXPECT_EQ(r.why, Why::left);
  EXPECT_EQ(r.reason, "left, because 3 launches of this kernel hung");
  EXPECT_EQ(record("endless.cu", {}, hangs).why, Why::left);
  EXPECT_EQ(calls(), 1) << "known to hang, so not begun";
  // The tool and all that it started are ended. (Else the test waits ten minutes.)
  end_races();
  EXPECT_FALSE(fs::exists(folder_ / "ended"));
}

TEST_F(Races, AKernelThatCrashesIsNotWatchedForMinutes) {
  const auto crashed = std::make_shared<conformance::Hangs>();
  crashed->saw_crash();
  does("stuck.cu", "sleep 600\n");
  const Record r = record("stuck.cu", "stuck.cu", crashed);
  end_races();
  EXPECT_EQ(r.why, Why::left);
  EXPECT_EQ(r.reason, "left, because launches of this kernel crashed");
  // What the tool says in time counts.
  does("in_time.cu", child(9, 0) +
                         "echo '========= Error: Race reported between Write access at soft+0x10'\n"
                         "echo '========= RACECHECK SUMMARY: 1 hazard displayed'\nexit 86\n");
  EXPECT_EQ(record("in_time.cu", "in_time.cu", crashed).status, Status::fail);
}

TEST_F(Races, WithinOtherLimitsTheToolBeginsAnew) {
  does("before.cu", "touch begun\nsleep 600\n");
  does("found.cu", child(9, 0) + kClean + kChildsStatus);
  const Variant v = of_a_file("found.cu");
  begin_races(v, "before.cu", 1);
  while (!fs::exists(folder_ / "begun")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(record("found.cu", "found.cu").status, Status::pass);
  EXPECT_EQ(calls(), 2);
}

TEST_F(Races, TheWorkersOfTheToolsChildHaveTheToolsVariablesAndNoSecret) {
  does("told.cu", "NV_ASSAY_TEST=1 env > environment\n" + child(9, 0) + kClean + kChildsStatus);
  setenv("ASSAY_TEST", "1", 1);
  setenv("OTHER_TEST_SECRET", "token", 1);
  EXPECT_EQ(record("told.cu").status, Status::pass);
  unsetenv("OTHER_TEST_SECRET");
  unsetenv("ASSAY_TEST");
  std::ifstream in(folder_ / "environment");
  const std::string all((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(all.find("NV_ASSAY_TEST=1\n"), std::string::npos) << all;
  EXPECT_NE(all.find("\nASSAY_TEST=1\n"), std::string::npos) << all;
  EXPECT_NE(all.find("\nASSAY_KEEP_ENV=*\n"), std::string::npos) << all;
  EXPECT_EQ(all.find("token"), std::string::npos) << all;
}

TEST_F(Races, ACommandLineNamesVariablesAndHoldsNoValue) {
  setenv("OTHER_TEST_SECRET", "token", 1);
  setenv("OMP_TEST_SETTING", "a setting", 1);
  const std::string words = environment_of({isolation::environment_of_kernels()});
  const std::string got = shell(words + "env").output;
  unsetenv("OTHER_TEST_SECRET");
  unsetenv("OMP_TEST_SETTING");
  EXPECT_EQ(words.find('='), words.npos) << words;
  EXPECT_NE(words.find("-u OTHER_TEST_SECRET"), words.npos) << words;
  EXPECT_EQ(got.find("token"), got.npos) << got;
  EXPECT_NE(got.find("OMP_TEST_SETTING=a setting\n"), got.npos) << got;
}

TEST_F(Races, WithoutTheToolNothingIsWatchedAndTheRecordSaysWhy) {
  setenv("PATH", "/nowhere", 1);
  const Record r = record("alone.cu", "alone.cu");
  EXPECT_EQ(r.status, Status::unsupported) << r.reason;
  EXPECT_TRUE(r.reason.starts_with("races: ")) << r.reason;
#if !defined(__SANITIZE_THREAD__)
  EXPECT_NE(r.reason.find("compute-sanitizer in PATH"), std::string::npos) << r.reason;
#endif
  EXPECT_EQ(calls(), 0);
}

TEST_F(Races, ToolsAndChildrenThatGoWrongAreNoPass) {
  does("killed.cu", child(9, 0) + "kill -KILL $$\n");
  does("silent.cu", child(9, 0) + kChildsStatus);
  does("empty.cu", "exit 0\n");
  // The child's cases were lost, or it could not begin.
  does("lost.cu", std::string("echo 'NOT RUN soft/f32@plugin'\n") + kClean + "exit 3\n");
  does("bad_call.cu", std::string("echo 'assay: no such file'\n") + kClean + "exit 2\n");
  for (const char* target : {"killed.cu", "silent.cu", "empty.cu", "lost.cu", "bad_call.cu"}) {
    const Record r = record(target);
    EXPECT_TRUE(refused_by(Check::launch, r)) << target << ": " << name(r.status) << " " << r.reason;
  }
  const std::string silent = detail_of(record("silent.cu"));
  EXPECT_NE(silent.find("the tool ended without a summary"), std::string::npos) << silent;
}

}  // namespace
}  // namespace assay
