// SPDX-License-Identifier: Apache-2.0
#include "reference/files/regular_file.hpp"

#include <sys/stat.h>

#include <fstream>

#include "reference/test_folder.hpp"

namespace assay {
namespace {

std::string refusal_of(const std::filesystem::path& file) {
  try {
    require_file(file);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(RegularFile, WhatHasNoEndOrNoBeginningIsRefused) {
  const TestFolder own;
  const std::filesystem::path file = own.path() / "file", pipe = own.path() / "pipe";
  EXPECT_EQ(refusal_of(file), file.string() + ": no such file");
  std::ofstream(file) << "text";
  EXPECT_EQ(refusal_of(file), "");
  std::filesystem::create_symlink(file, own.path() / "link");
  EXPECT_EQ(refusal_of(own.path() / "link"), "");
  EXPECT_EQ(refusal_of(own.path()), own.path().string() + ": is a folder");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(refusal_of(pipe), pipe.string() + ": is no regular file");
  EXPECT_EQ(refusal_of("/dev/zero"), "/dev/zero: is no regular file");
}

}  // namespace
}  // namespace assay
