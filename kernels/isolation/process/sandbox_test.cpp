// SPDX-License-Identifier: Apache-2.0
// Which folders a worker can write.
#include "kernels/isolation/process/sandbox.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "reference/test_folder.hpp"

namespace assay::isolation {
namespace {

namespace fs = std::filesystem;

TEST(Sandbox, ABuildFolderStaysAsItIsInAFolderThatMayBeWritten) {
  if (const std::string why = why_not_sandboxed(Reach::host); !why.empty()) GTEST_SKIP() << why;
  const TestFolder own;
  const fs::path kept = own.path() / "builds";
  fs::create_directories(kept);
  const auto write = [&](const fs::path& file) {
    std::string line;
    for (std::string& word : sandbox_words(Reach::host, "kernel"))
      if (word != "--as-pid-1") line += "'" + word + "' ";
    // The words end with "--".
    return std::system((line + "sh -c 'echo x > " + file.string() + "' 2>/dev/null").c_str()) == 0;
  };
  const char* const before = std::getenv("TRITON_CACHE_DIR");
  const std::string value = before ? before : "";
  setenv("TRITON_CACHE_DIR", own.path().c_str(), 1);
  EXPECT_TRUE(write(kept / "one")) << "the caches of compilers may be written";
  sandbox_keeps(kept.string());
  EXPECT_FALSE(write(kept / "two"));
  EXPECT_TRUE(write(own.path() / "three"));
  if (before)
    setenv("TRITON_CACHE_DIR", value.c_str(), 1);
  else
    unsetenv("TRITON_CACHE_DIR");
}

}  // namespace
}  // namespace assay::isolation
