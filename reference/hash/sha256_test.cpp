// SPDX-License-Identifier: Apache-2.0
// SHA-256 on the examples of FIPS 180 (its appendix B, and NIST's examples with intermediate values).
#include "reference/hash/sha256.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

TEST(Sha256, ExamplesOfTheStandard) {
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      sha256_of(
          "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
          "qrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256_of(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Lengths around the end of a block, given whole and byte by byte.
TEST(Sha256, PiecesGiveTheSame) {
  for (std::size_t n = 0; n < 200; ++n) {
    std::string text;
    for (std::size_t i = 0; i < n; ++i) text += static_cast<char>(i * 7);
    Sha256 bytes;
    for (const char c : text) bytes.add({&c, 1});
    ASSERT_EQ(bytes.hex(), sha256_of(text)) << n;
  }
}

TEST(Sha256, OfAFile) {
  const TestFolder own;
  const std::string text(3000001, 'x');
  std::ofstream(own.path() / "some", std::ios::binary) << text;
  EXPECT_EQ(sha256_of_file(own.path() / "some"), sha256_of(text));
  EXPECT_THROW(sha256_of_file(own.path() / "none"), InputError);
  EXPECT_THROW(sha256_of_file(own.path()), InputError);
}

}  // namespace
}  // namespace assay
