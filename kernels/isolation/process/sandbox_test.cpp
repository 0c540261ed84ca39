// SPDX-License-Identifier: Apache-2.0
// Which folders a worker can write.
#include "kernels/isolation/process/sandbox.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/isolation/process/process.hpp"
#include "kernels/isolation/process/sandboxed.hpp"
#include "kernels/isolation/process/warm_process.hpp"
#include "reference/test_folder.hpp"

namespace assay::isolation {
namespace {

namespace fs = std::filesystem;

/// Runs a command as a worker is run, and returns whether it ended well.
bool runs(const std::string& command) {
  const Sandbox how = sandbox_of(Reach::host, "kernel");
  std::vector<std::string> words = how.front;
  std::erase(words, "--as-pid-1");
  if (how.guard == Guard::landlock) {
    words = {worker_executable(""), "worker", "program"};
    words.insert(words.end(), how.told.begin(), how.told.end());
  }
  std::string line;
  for (const std::string& word : words) line += "'" + word + "' ";
  return std::system((line + "/bin/sh -c '" + command + "' 2>/dev/null").c_str()) == 0;
}

TEST(Sandbox, ABuildFolderStaysAsItIsInAFolderThatMayBeWritten) {
  const char* const before = std::getenv("TRITON_CACHE_DIR");
  const std::string value = before ? before : "";
  for (const bool hidden : {false, true}) {
    missing().bubblewrap = hidden;
    if (guard_of(Reach::host) == Guard::none) {
      std::printf("not tried: %s\n", guard_words(Reach::host).c_str());
      continue;
    }
    const TestFolder own;
    const fs::path kept = own.path() / "builds";
    fs::create_directories(kept);
    const auto write = [&](const fs::path& file) { return runs("echo x > " + file.string()); };
    setenv("TRITON_CACHE_DIR", own.path().c_str(), 1);
    EXPECT_TRUE(write(kept / "one")) << "the caches of compilers may be written";
    sandbox_keeps(kept.string());
    EXPECT_FALSE(write(kept / "two"));
    // Landlock can take no folder out of another one. There compilers get a folder of this process's own.
    EXPECT_EQ(write(own.path() / "three"), guard_of(Reach::host) == Guard::bubblewrap);
    for (const auto& [name, folder] : sandbox_of(Reach::host, "kernel").environment)
      EXPECT_TRUE(write(folder + "/four")) << name;
  }
  missing().bubblewrap = false;
  if (before)
    setenv("TRITON_CACHE_DIR", value.c_str(), 1);
  else
    unsetenv("TRITON_CACHE_DIR");
}

TEST(Sandbox, AProgramEndsWithAllThatItStartedAndLeavesNoFolder) {
  missing().bubblewrap = true;
  if (guard_of(Reach::host) == Guard::landlock) {
    const TestFolder own;
    EXPECT_FALSE(runs("exit 3"));
    EXPECT_TRUE(runs("echo $TMPDIR > $TMPDIR/x; sleep 60 & exit 0"));
    setenv("TMPDIR", own.path().c_str(), 1);
    EXPECT_TRUE(runs("echo x > $TMPDIR/x; mkdir $TMPDIR/y; ln -s / $TMPDIR/z"));
    unsetenv("TMPDIR");
    EXPECT_TRUE(fs::is_empty(own.path()));
  }
  missing().bubblewrap = false;
}

namespace fs = std::filesystem;

/// Runs a command where a worker would run, and returns whether it ended well.
bool runs_hidden(const std::string& command) {
  std::vector<std::string> words = sandbox_of(Reach::host, {}).front;
  std::erase(words, "--as-pid-1");
  const std::vector<std::string> hiding = hiding_words();
  words.insert(words.end() - 1, hiding.begin(), hiding.end());
  std::string line;
  for (const std::string& word : words) line += "'" + word + "' ";
  return std::system((line + "/bin/sh -c '" + command + "' 2>/dev/null").c_str()) == 0;
}

TEST(Hidden, AFolderIsEmptyButForWhatIsLoaded) {
  if (guard_of(Reach::host) != Guard::bubblewrap) GTEST_SKIP() << guard_words(Reach::host);
  const TestFolder own;
  const fs::path out = own.path() / "out", kernel = out / "kernels" / "kernel.so";
  fs::create_directories(kernel.parent_path());
  for (const fs::path& file : {out / "unfinished.jsonl", kernel}) std::ofstream(file) << "x";
  const std::string seen = "test -e " + (out / "unfinished.jsonl").string();
  EXPECT_TRUE(runs_hidden(seen));
  sandbox_shows(kernel.string());
  sandbox_hides(out.string());
  EXPECT_TRUE(runs_hidden("true"));
  EXPECT_FALSE(runs_hidden(seen));
  EXPECT_TRUE(runs_hidden("test -e " + kernel.string()));
  EXPECT_FALSE(runs_hidden("echo x > " + (out / "other").string()));
  // A folder that workers load from stays.
  sandbox_shows((out / "kernel.so").string());
  EXPECT_TRUE(runs_hidden(seen));
}

/// Landlock hides no name, but it lets no file be read.
TEST(Hidden, NoFileOfAFolderIsReadUnderLandlock) {
  missing().bubblewrap = true;
  std::vector<std::string> words = program_words();
  const Guard guard = guard_of(Reach::host);
  missing().bubblewrap = false;
  if (guard != Guard::landlock) GTEST_SKIP() << "no Landlock here";
  const TestFolder own;
  const fs::path out = own.path() / "hidden", loaded = out / "loaded" / "data";
  fs::create_directories(loaded.parent_path());
  for (const fs::path& file : {own.path() / "beside", out / "records.jsonl", loaded})
    std::ofstream(file) << "x";
  sandbox_shows(loaded.string());
  sandbox_hides(out.string());
  const std::vector<std::string> hiding = unreadable_words();
  words.insert(words.begin() + 6, hiding.begin(), hiding.end());
  std::string line;
  for (const std::string& word : words) line += "'" + word + "' ";
  const auto reads = [&](const fs::path& file) {
    return std::system((line + "/bin/cat '" + file.string() + "' > /dev/null 2>&1").c_str()) == 0;
  };
  EXPECT_TRUE(reads(own.path() / "beside"));
  EXPECT_TRUE(reads(loaded));
  EXPECT_FALSE(reads(out / "records.jsonl"));
}

}  // namespace

// A worker is charged for the time that it could use, not for the wall clock.

namespace {

TEST(WorkerClock, CountsWhatAProcessCouldUse) {
  const auto child_that = [](auto does) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (;;) does();
    }
    return pid;
  };
  const auto tick_of = [](pid_t pid) {
    WorkerClock clock(pid);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return clock.tick(0.3);
  };
  const pid_t sleeps = child_that([] { pause(); }), stands = child_that([] { raise(SIGSTOP); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_NEAR(tick_of(sleeps).used, 0.3, 0.01) << "its sleep is its own";
  EXPECT_FALSE(tick_of(sleeps).stopped);
  EXPECT_TRUE(tick_of(stands).stopped);
  EXPECT_LT(tick_of(stands).used, 0.01);
  for (const pid_t pid : {sleeps, stands}) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  EXPECT_EQ(tick_of(sleeps).used, 0.3) << "of one that nothing is known of, all counts";
}

}  // namespace
}  // namespace assay::isolation
