// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/shared/plain_text.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "kernels/isolation/shared/memory_limit.hpp"
#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {
namespace {

TEST(PlainText, EscapeSequencesAreRemovedWhole) {
  EXPECT_EQ(plain_text("a\x1b[2Jb"), "ab");
  EXPECT_EQ(plain_text("\x1b[1;31mred\x1b[0m"), "red");
  EXPECT_EQ(plain_text("\x1b]0;a title\ab"), "b");
  EXPECT_EQ(plain_text("\x1b]8;;http://a\x1b\\b"), "b");
  EXPECT_EQ(plain_text("\x1b(Ba\x1b"
                       "7b\x1b"),
            "ab");
  EXPECT_EQ(plain_text("\x1b]0;no end\nb"), "\nb");
  EXPECT_EQ(plain_text("a\x1b["), "a");
}

TEST(PlainText, ControlCharactersBecomeBlanks) {
  EXPECT_EQ(plain_text("a\tb\rc\nd\x7f"), "a b c\nd ");
  EXPECT_EQ(plain_text(std::string("a\0b", 3)), "a b");
  EXPECT_EQ(plain_text("a\xc2\x9b"
                       "b"),
            "a b")
      << "U+009B begins an escape sequence too";
}

TEST(PlainText, OnlyUtf8IsLeft) {
  const std::string none = "\xef\xbf\xbd";
  EXPECT_EQ(plain_text("\xff\xfe"), none + none);
  EXPECT_EQ(plain_text("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(plain_text("\xe2\x82"), none + none) << "cut";
  EXPECT_EQ(plain_text("\xc0\xaf"), none + none) << "longer than needed";
  EXPECT_EQ(plain_text("\xed\xa0\x80"), none + none + none) << "half of a pair";
}

/// A fault in words that nobody can see is a fault all the same.
TEST(PlainText, OfAFaultIsNeverEmpty) {
  Text<64> fault;
  EXPECT_EQ(fault.plain(), "");
  for (const char* words : {"\x1b[0m", " ", "\n", " \n ", "\x1b]0;\a"}) {
    fault.set(words);
    EXPECT_EQ(fault.plain(), "it said nothing that can be shown");
  }
}

TEST(MemoryLimit, IsOfTheMachineOrItsControlGroup) {
  EXPECT_EQ(most_memory({.all = 100'000}), 90'000);
  EXPECT_EQ(most_memory({.all = 100'000, .limit = 20'000}), 18'000);
  EXPECT_EQ(most_memory({.all = 100'000, .limit = 200'000}), 90'000);
}

TEST(MemoryLimit, OfThisMachine) {
  const MachineMemory m = machine_memory();
  EXPECT_GT(m.all, 0);
  setenv("ASSAY_WORKER_MEMORY", "77", 1);
  EXPECT_EQ(most_memory(), 77);
  unsetenv("ASSAY_WORKER_MEMORY");
  EXPECT_GT(most_memory(), 77);
}

TEST(MemoryLimit, WhatAProcessHasForItself) {
  const std::int64_t before = own_memory(getpid());
  std::vector<char> block(std::size_t{64} << 20, 1);
  EXPECT_GE(own_memory(getpid()), before + 60) << block[7];
}

}  // namespace
}  // namespace assay::isolation
