// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/hidden.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "kernels/isolation/process/sandbox.hpp"
#include "reference/test_folder.hpp"

namespace assay::isolation {
namespace {

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
}  // namespace assay::isolation
