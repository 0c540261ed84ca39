// SPDX-License-Identifier: Apache-2.0
// A run that was killed leaves what it finished, and --resume ends with the records of a run that was not
// killed.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "reports/cli/commands.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/out/out_folder.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using process_test::Finished;

class Resume : public command_test::FolderTest {
 protected:
  void SetUp() override {
    if (!process_test::has_command()) GTEST_SKIP() << "no " ASSAY_COMMAND;
  }
  /// Runs the command into `folder`; the words are separated by spaces.
  Finished run(const std::string& line, const std::string& folder, const std::string& end_after = "") const {
    std::vector<std::string> words = command_test::words_of(line);
    words.insert(words.end(), {"--out", at(folder)});
    std::vector<std::string> settings;
    if (!end_after.empty()) settings.push_back("ASSAY_TEST_END_AFTER=" + end_after);
    return process_test::run(words, settings);
  }
  /// The lines of a file, sorted, each without the folder's name and, if it is a record, what it says of the
  /// run. Lines of seconds are left out.
  std::vector<std::string> lines(const std::string& folder, const std::string& file) const {
    std::vector<std::string> all;
    std::istringstream in(read_file(own_.path() / folder / file));
    for (std::string line; std::getline(in, line);) {
      if (line.find("\"seconds\": ") != line.npos) continue;
      if (const std::size_t n = line.find(at(folder)); n != line.npos) line.erase(n, at(folder).size());
      all.push_back(line.starts_with("{\"") ? without_run(line) : line);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  /// Ends the run by the signal after `n` entries, then goes on. Nothing finished is lost or made again.
  void expect_resumes(const std::string& line, int n, int signal, int status, const std::string& file) {
    const Finished whole = run(line, "whole");
    ASSERT_EQ(whole.status, status) << whole.out << whole.err;
    EXPECT_FALSE(fs::exists(at("whole/unfinished.jsonl")));
    const Finished killed = run(line, "killed", fmt::format("{} {}", n, signal));
    EXPECT_EQ(killed.signal, signal) << killed.err;
    EXPECT_FALSE(fs::exists(at("killed/" + file)));
    EXPECT_GE(lines("killed", "unfinished.jsonl").size(), static_cast<std::size_t>(n) + 1);
    if (signal != SIGKILL) {
      EXPECT_NE(killed.err.find("assay: interrupted: "), std::string::npos) << killed.err;
      EXPECT_NE(killed.err.find("to go on: assay " + line), std::string::npos) << killed.err;
      EXPECT_NE(killed.err.find(" --resume\n"), std::string::npos) << killed.err;
    }
    const Finished resumed = run(line + " --resume", "killed");
    EXPECT_EQ(resumed.status, status) << resumed.out << resumed.err;
    EXPECT_NE(resumed.err.find("going on with "), std::string::npos) << resumed.err;
    EXPECT_FALSE(fs::exists(at("killed/unfinished.jsonl")));
    EXPECT_EQ(lines("killed", file), lines("whole", file));
  }
};

/// A file that the kernel includes is a part of it: nothing goes on after it was edited.
TEST_F(Resume, NotAfterAnIncludedFileWasEdited) {
  const std::string kernel = std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/examples/rows_of_a_warp.cu";
  std::ofstream(at("mine.cu")) << "#include \"inner.cuh\"\n" << read_file(kernel);
  std::ofstream(at("inner.cuh")) << "// nothing\n";
  const std::string line =
      "check " + at("mine.cu") + " --entry softmax_four_per_warp --host --quick --only batch --only shapes";
  const Finished killed = run(line, "killed", fmt::format("2 {}", SIGKILL));
  ASSERT_EQ(killed.signal, SIGKILL) << killed.out << killed.err;
  std::ofstream(at("inner.cuh"))
      << "namespace { int changed() { return 1; } }\n__attribute__((used)) int (*keep)() = changed;\n";
  const Finished resumed = run(line + " --resume", "killed");
  EXPECT_EQ(resumed.status, kBadCall) << resumed.out << resumed.err;
  EXPECT_NE(resumed.err.find("leave out --resume to begin again"), std::string::npos) << resumed.err;
  std::ofstream(at("inner.cuh")) << "// nothing\n";
  EXPECT_EQ(run(line + " --resume", "killed").status, kPassed);
}

/// A journal of a version that knew files by 64 bits is none to go on with.
TEST_F(Resume, NotWithAnOlderJournal) {
  const std::string line = "check safe_block/f32@host --quick --only batch --only shapes";
  ASSERT_EQ(run(line, "killed", fmt::format("2 {}", SIGKILL)).signal, SIGKILL);
  std::string journal = read_file(at("killed/unfinished.jsonl"));
  const std::size_t version = journal.find("\"assay_unfinished\":2");
  ASSERT_NE(version, journal.npos) << journal.substr(0, 300);
  journal.replace(version, 20, "\"assay_unfinished\":1");
  std::ofstream(at("killed/unfinished.jsonl")) << journal;
  const Finished resumed = run(line + " --resume", "killed");
  EXPECT_EQ(resumed.status, kBadCall) << resumed.out;
  EXPECT_NE(resumed.err.find("made by an older version of assay"), std::string::npos) << resumed.err;
}

/// What an adoption measured of a CPU and a GPU is of these.
TEST_F(Resume, NoAdoptionOnAnotherMachine) {
  const std::string line = "adopt safe_block/f32@host --only batch --quick --evaluations 32 --threads 1";
  ASSERT_EQ(run(line, "killed", fmt::format("2 {}", SIGKILL)).signal, SIGKILL);
  const std::string journal = read_file(at("killed/unfinished.jsonl")), mark = "\"machine\":\"CPU: ";
  std::string other = journal;
  ASSERT_NE(other.find(mark), other.npos) << other.substr(0, 300);
  EXPECT_NE(other.find("; GPU: "), other.npos);
  std::ofstream(at("killed/unfinished.jsonl")) << other.insert(other.find(mark) + mark.size(), "another ");
  const Finished resumed = run(line + " --resume", "killed");
  EXPECT_EQ(resumed.status, kBadCall) << resumed.out;
  EXPECT_NE(resumed.err.find("is of another machine: CPU: another "), std::string::npos) << resumed.err;
  std::ofstream(at("killed/unfinished.jsonl")) << journal;
  EXPECT_EQ(run(line + " --resume", "killed").status, kPassed);
}

TEST_F(Resume, AReportThatWasKilled) {
  expect_resumes(
      "report --key online_warp/f16@host --family normal_1 --family probe --V 33 --V 129 --V 1025 --threads "
      "1",
      2, SIGKILL, kPassed, "records.jsonl");
}
TEST_F(Resume, ACheckThatWasInterrupted) {
  expect_resumes("check mutant.sum_skips_tail/f32@host --only batch --only shapes --V 257 --quick", 3,
                 SIGTERM, kFailed, "records.jsonl");
}
TEST_F(Resume, AnAdoptionThatWasInterrupted) {
  const std::string line =
      "adopt safe_block/f32@host --only batch --only repeat --quick --evaluations 64 --threads 1";
  expect_resumes(line, 3, SIGTERM, kPassed, "check/records.jsonl");
  EXPECT_EQ(lines("killed", "fuzz/records.jsonl"), lines("whole", "fuzz/records.jsonl"));
  EXPECT_EQ(process_test::run({"verify", at("killed/certificate.json"), "--out", at("verify")}).status,
            kPassed);
}
TEST_F(Resume, AFuzzThatWasKilledKeepsItsFinding) {
  const std::string line = "fuzz mutant.max_from_zero/f32@host --evaluations 128 --jobs 1 --in-process";
  expect_resumes(line, 1, SIGKILL, kFailed, "records.jsonl");
  run(line, "again", "1 9");
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(at("again")))
    if (entry.path().extension() == ".json") {
      ++cases;
      EXPECT_EQ(process_test::run({"replay", entry.path().string()}).status, kFailed);
    }
  EXPECT_GT(cases, 0) << "the case is there before the search ends";
}
TEST_F(Resume, AFuzzSaysWhatItFoundBefore) {
  const std::string line =
      "fuzz mutant.max_from_zero/f32@host safe_block/f32@host --evaluations 128 --jobs 1 --seed 1 --in-process";
  const Finished whole = run(line, "whole");
  std::string resumed;
  for (int n = 1; n < 20 && resumed.find("searched before") == resumed.npos; ++n) {
    fs::remove_all(at("killed"));
    ASSERT_EQ(run(line, "killed", fmt::format("{} {}", n, SIGKILL)).signal, SIGKILL) << n;
    resumed = run(line + " --resume", "killed").out;
    EXPECT_EQ(lines("killed", "records.jsonl"), lines("whole", "records.jsonl"));
  }
  EXPECT_NE(resumed.find("mutant.max_from_zero/f32@host: searched before: "), resumed.npos) << resumed;
}
TEST_F(Resume, AMeasurementOfFunctionsThatWasInterrupted) {
  expect_resumes("functions --function expf --function hexp --backend host --stride 999983 --threads 1", 2,
                 SIGINT, kPassed, "functions.json");
}
/// A sweep keeps every record as it is made, and says so.
TEST_F(Resume, ASweepThatWasInterruptedSaysHowToGoOn) {
  const std::string err = at("err");
  const pid_t pid = process_test::start(
      {ASSAY_COMMAND, "sweep", "--host", "--key", "online_warp/f32@host", "--out", at("sweep")}, {},
      at("said"), err);
  const auto some = [&] {
    std::error_code none;
    const auto bytes = fs::file_size(at("sweep/sweep.jsonl"), none);
    return !none && bytes > 0;
  };
  for (int i = 0; i < 600 && !some(); ++i) usleep(100'000);
  ASSERT_TRUE(some()) << read_file(err);
  kill(pid, SIGINT);
  EXPECT_EQ(process_test::wait_for(pid).signal, SIGINT);
  const std::string said = read_file(err);
  EXPECT_NE(said.find(" entries of what is finished are kept in " + at("sweep/sweep.jsonl")), said.npos)
      << said;
  EXPECT_NE(said.find("assay: to go on: assay sweep --host --key online_warp/f32@host"), said.npos) << said;
}
TEST_F(Resume, ACompilationThatWasInterruptedLosesNothing) {
  const std::string err = at("err"),
                    source = std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/examples/cached_row.cu";
  const pid_t pid =
      process_test::start({ASSAY_COMMAND, "adapter", source, "--entry", "softmax_cached", "--host"},
                          {"XDG_CACHE_HOME=" + at("cache")}, at("said"), err);
  const auto compiles = [&] {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(at("cache/assay"), none))
      if (entry.path().filename().string().starts_with("executor-")) return !fs::is_empty(entry.path());
    return false;
  };
  for (int i = 0; i < 6000 && !compiles(); ++i) usleep(20'000);
  ASSERT_TRUE(compiles()) << read_file(err);
  kill(pid, SIGINT);
  EXPECT_EQ(process_test::wait_for(pid).signal, SIGINT);
  EXPECT_EQ(read_file(err),
            "\nassay: interrupted while a file was compiled: nothing was lost, and the same command begins "
            "again\n");
}
TEST_F(Resume, ASearchForTheLargestSharesThatWasKilled) {
  expect_resumes("utilisation --key safe_block/*@host --V 33 --V 2 --evaluations 20 --threads 1", 2, SIGKILL,
                 kPassed, "utilisation.json");
}
TEST_F(Resume, ASelftestThatWasInterrupted) {
  const Finished killed = run("selftest --quick --threads 1", "self", "2 2");
  EXPECT_EQ(killed.signal, SIGINT);
  EXPECT_NE(killed.err.find("to go on: assay selftest --quick"), std::string::npos) << killed.err;
  const Finished more = run("selftest --quick --threads 1 --resume", "self", "4 9");
  EXPECT_NE(more.err.find("going on with 2 finished"), std::string::npos) << more.err;
  std::vector<std::string> all = lines("self", "unfinished.jsonl");
  for (std::string& l : all) l = l.substr(0, l.find("\"what\""));
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end()) << "an entry was judged twice";
}

TEST_F(Resume, OnlyTheSameCommandGoesOn) {
  const std::string line =
      "report --key online_warp/f16@host --family normal_1 --V 33 --V 129 --V 1025 --threads 1";
  run(line, "out", "2 9");
  const Finished other = run(line + " --seed 2 --resume", "out");
  EXPECT_EQ(other.status, kBadCall);
  EXPECT_NE(other.err.find("another command: assay " + line.substr(0, 20)), std::string::npos) << other.err;
  EXPECT_EQ(std::count(other.err.begin(), other.err.end(), '\n'), 1) << other.err;
  // A torn last line is one record that was not finished.
  std::ofstream(at("out/unfinished.jsonl"), std::ios::app) << "{\"case\":\"torn";
  EXPECT_EQ(run(line + " --resume", "out").status, kPassed);
  // Without --resume the run begins again, and what was there is kept.
  run(line, "out", "2 9");
  const Finished again = run(line, "out");
  EXPECT_EQ(again.status, kPassed);
  EXPECT_NE(again.err.find("--resume would have gone on with it"), std::string::npos) << again.err;
  EXPECT_TRUE(fs::exists(at("out/unfinished.old.jsonl")));
}

TEST_F(Resume, ASecondRunIntoTheSameFolderStops) {
  {
    const OutFolder first(at("out"));
    for (const char* line : {"report --key online_warp/f16@host --family normal_1 --V 33",
                             "check online_warp/f16@host --only shapes --V 257 --quick",
                             "selftest --key all_zero", "fuzz online_warp/f16@host --evaluations 1",
                             "sweep --host --key online_warp/f16@host", "functions --stride 16777216"}) {
      const Finished second = run(line, "out");
      EXPECT_EQ(second.status, kBadCall) << line << second.out;
      EXPECT_NE(second.err.find("another run writes there (process "), std::string::npos) << second.err;
      EXPECT_EQ(std::count(second.err.begin(), second.err.end(), '\n'), 1) << second.err;
    }
  }
  EXPECT_TRUE(fs::is_empty(at("out")));
  // A killed run leaves its lock file, and nobody holds it.
  const std::string line = "report --key online_warp/f16@host --family normal_1 --V 33";
  run(line, "out", "1 9");
  EXPECT_TRUE(fs::exists(at("out/.lock")));
  EXPECT_EQ(run(line, "out").status, kPassed);
  EXPECT_FALSE(fs::exists(at("out/.lock")));
  // A lock that is a link is not written through.
  std::ofstream(at("theirs")) << "theirs";
  fs::create_symlink(at("theirs"), at("out/.lock"));
  const Finished linked = run(line, "out");
  EXPECT_EQ(linked.status, kBadCall);
  EXPECT_NE(linked.err.find("out/.lock: cannot be made: it is a symbolic link"), std::string::npos)
      << linked.err;
  EXPECT_EQ(read_file(at("theirs")), "theirs");
}

}  // namespace
}  // namespace assay
