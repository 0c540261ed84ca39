// SPDX-License-Identifier: Apache-2.0
// What workers have mapped, and what a shared object imports.
#include "kernels/isolation/loaded/loaded_files.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "reference/hash/sha256.hpp"
#include "reference/test_folder.hpp"

namespace assay::isolation {
namespace {

const LoadedFile* find(const std::vector<LoadedFile>& all, const std::string& path) {
  const auto at = std::ranges::find(all, path, &LoadedFile::path);
  return at == all.end() ? nullptr : &*at;
}

std::string written(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

std::string loaded_fixture(const std::string& name) {
  return std::string(ASSAY_FIXTURES) + "/" + name + ".so";
}

void* mapped(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* const at = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  return at;
}

TEST(LoadedFiles, WhatIsMappedAfterTheBeginningIsHashed) {
  const TestFolder folder;
  const std::string before = written(folder.path() / "before", "1"),
                    after = written(folder.path() / "after", "2");
  LoadedFiles& files = LoadedFiles::of("a kernel of this test");
  void* const first = mapped(before);
  files.begin(getpid(), false);
  void* const second = mapped(after);
  // It is replaced while it is mapped: what counts is what was mapped.
  std::filesystem::rename(written(folder.path() / "other", "3"), after);
  files.look(getpid());
  files.end(getpid());
  munmap(first, 4096);
  munmap(second, 4096);
  const std::vector<LoadedFile> all = files.all();
  EXPECT_EQ(find(all, before), nullptr);
  const LoadedFile* const one = find(all, after);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->role, "data");
  if (geteuid() == 0) {
    EXPECT_EQ(one->sha256, sha256_of("2"));
  }
}

TEST(LoadedFiles, PathsOfTheSystemAndOfPackages) {
  EXPECT_TRUE(is_system_path("/usr/lib/x86_64-linux-gnu/libm.so.6"));
  EXPECT_FALSE(is_system_path("/home/somebody/usr/lib/libm.so.6"));
  EXPECT_FALSE(is_system_path("/opt/helper.so"));
  const PackagePath numpy = package_of("/v/lib/python3.11/site-packages/numpy.libs/libopenblas.so");
  EXPECT_EQ(numpy.name + " " + numpy.folder, "numpy /v/lib/python3.11/site-packages");
  EXPECT_EQ(package_of("/project/helper.py").name, "");
}

TEST(Imports, OfThisProgramAndOfNoProgram) {
  const std::vector<std::string> own = unusual_imports("/proc/self/exe");
  for (const char* name : {"fork", "getenv", "mmap"})
    EXPECT_NE(std::ranges::find(own, name), own.end()) << name;
  EXPECT_EQ(std::ranges::find(own, "memcpy"), own.end());
  const TestFolder folder;
  EXPECT_TRUE(unusual_imports(written(folder.path() / "text", "no program")).empty());
  EXPECT_TRUE(unusual_imports(written(folder.path() / "cut", std::string("\x7f"
                                                                         "ELF\2",
                                                                         5)))
                  .empty());
  EXPECT_TRUE(unusual_imports("/no/such/file").empty());
  if (!std::filesystem::exists(loaded_fixture("fixture_right")))
    GTEST_SKIP() << "the fixtures are not on this machine";
  const std::vector<std::string> right = unusual_imports(loaded_fixture("fixture_right"));
  EXPECT_EQ(std::ranges::find(right, "getenv"), right.end());
  const std::vector<std::string> hostile = unusual_imports(loaded_fixture("hostile_kills_itself"));
  EXPECT_NE(std::ranges::find_first_of(hostile, std::vector<std::string>{"kill", "raise", "getpid"}),
            hostile.end());
}

}  // namespace
}  // namespace assay::isolation
