// SPDX-License-Identifier: Apache-2.0
// Which folders a worker can write.
#include "kernels/isolation/process/sandbox.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/isolation/process/process.hpp"
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

}  // namespace
}  // namespace assay::isolation
