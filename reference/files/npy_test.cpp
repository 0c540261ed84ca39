// SPDX-License-Identifier: Apache-2.0
// .npy: what is written is read back bit for bit, headers of all three versions are read, and every broken
// file is refused with a line that names it.
#include "reference/files/npy.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "reference/paths.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Npy : public ::testing::Test {
 protected:
  Npy() { fs::create_directories(folder_); }
  ~Npy() override { fs::remove_all(folder_); }

  fs::path write(const std::string& bytes) {
    const fs::path file = folder_ / "given.npy";
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  std::string slurp(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_ =
      fs::path(::testing::TempDir()) / ("npy_test_" + std::to_string(::getpid()) + "_" +
                                        ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

std::string dictionary(const std::string& descr, const std::string& shape, const char* order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

std::string npy_of_version(const std::string& dict, const std::string& data, int major = 1) {
  std::string s = "\x93NUMPY";
  s += static_cast<char>(major);
  s += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) s += static_cast<char>(dict.size() >> (8 * i) & 0xff);
  return s + dict + data;
}

// Checks the whole message: one line that starts with the file's name.
void expect_refused(const fs::path& file, const std::string& reason) {
  try {
    read_npy(file);
    ADD_FAILURE() << "accepted: " << reason;
  } catch (const InputError& e) {
    const std::string what = e.what();
    EXPECT_EQ(what.rfind(file.string() + ": ", 0), 0u) << what;
    EXPECT_NE(what.find(reason), std::string::npos) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
  }
}

TEST_F(Npy, RoundTripKeepsEveryBit) {
  for (Dtype t : {Dtype::f16, Dtype::f32, Dtype::f64}) {
    Tensor a(t, 3, 5);
    for (std::size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = static_cast<std::byte>(i * 37 + 251);
    const fs::path file = folder_ / (std::string(name(t)) + ".npy");
    write_npy(file, a);
    const Tensor b = read_npy(file);
    EXPECT_EQ(b.dtype, t);
    EXPECT_EQ(b.rows, 3);
    EXPECT_EQ(b.V, 5);
    EXPECT_EQ(a.bytes, b.bytes);
    const std::string text = slurp(file);
    EXPECT_EQ((text.size() - a.bytes.size()) % 64, 0u) << "elements start at a multiple of 64";
  }
  EXPECT_EQ(files(), 3u) << "no temporary file stays";
}

TEST_F(Npy, EmptyTensorsRoundTrip) {
  for (auto [rows, V] : {std::pair{0, 7}, std::pair{4, 0}}) {
    write_npy(folder_ / "empty.npy", Tensor(Dtype::f32, rows, V));
    const Tensor t = read_npy(folder_ / "empty.npy");
    EXPECT_EQ(t.rows, rows);
    EXPECT_EQ(t.V, V);
  }
}

TEST_F(Npy, LeadingDimensionsAreRows) {
  const std::string data(2 * 3 * 4 * 2, '\x3c');
  for (int major : {1, 2, 3}) {
    const Tensor t = read_npy(write(npy_of_version(dictionary("<f2", "(2, 3, 4)"), data, major)));
    EXPECT_EQ(t.rows, 6);
    EXPECT_EQ(t.V, 4);
    EXPECT_EQ(t.dtype, Dtype::f16);
    EXPECT_EQ(std::memcmp(t.bytes.data(), data.data(), data.size()), 0);
  }
  const Tensor one = read_npy(write(npy_of_version(dictionary("<f4", "(3,)"), std::string(12, '\1'))));
  EXPECT_EQ(one.rows, 1);
  EXPECT_EQ(one.V, 3);
}

TEST_F(Npy, HeadersOfOtherWriters) {
  const std::string data(8, '\0');
  for (const char* dict : {"{\"shape\":(1L,2L),\"fortran_order\":False,\"descr\":\"<f4\"}",
                           "{ 'fortran_order' : False , 'descr' : '<f4' , 'shape' : ( 1 , 2 , ) , }   \n"})
    EXPECT_EQ(read_npy(write(npy_of_version(dict, data))).V, 2) << dict;
}

TEST_F(Npy, WrongFilesAreNamed) {
  expect_refused(folder_ / "absent.npy", "no such file");
  expect_refused(folder_, "is a directory");
  expect_refused(write(""), "not an .npy file");
  expect_refused(write("PK\3\4 something else"), "not an .npy file");
  expect_refused(write(std::string("\x93NUMPY\1\0", 8)), "truncated in the header");
  expect_refused(write(npy_of_version(dictionary("<f4", "(1, 2)"), "", 4)), "format 4.0 is unknown");
  expect_refused(write(npy_of_version(dictionary("<f4", "(1, 2)"), "").substr(0, 40)),
                 "truncated in the header");
}

TEST_F(Npy, WrongHeadersAreNamed) {
  for (const char* dict :
       {"", "{}", "not a dictionary", "{'descr': '<f4', 'shape': (2,)}", "{'descr': '<f4', 'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", "{'descr': '<f4", "{'descr': [('a', '<f4'"})
    expect_refused(write(npy_of_version(dict, std::string(8, '\0'))), "bad header");
  expect_refused(write(npy_of_version(dictionary("<f4", "(2,)") + "x", std::string(8, '\0'))), "bad header");
  expect_refused(write(npy_of_version(dictionary("<f4", "()"), std::string(4, '\0'))), "no dimension");
  for (const char* descr : {"<i4", ">i4", "|u1", "<f16", "<c8", "|f4", "=f4"})
    expect_refused(write(npy_of_version(dictionary(descr, "(1,)"), std::string(4, '\0'))),
                   "'" + std::string(descr) + "'");
  expect_refused(
      write(npy_of_version("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "abcd")),
      "dtype '[('a', '<f4')]' is not supported");
  expect_refused(write(npy_of_version(dictionary("<f\n4", "(1, 2)"), std::string(8, '\0'))),
                 "'<f?4' is not supported");
}

TEST_F(Npy, WrongSizesAreNamed) {
  const std::string dict = dictionary("<f4", "(2, 3)");
  expect_refused(write(npy_of_version(dict, std::string(23, '\0'))),
                 "truncated: expected 24 bytes of data, got 23");
  expect_refused(write(npy_of_version(dict, "")), "truncated: expected 24 bytes of data, got 0");
  expect_refused(write(npy_of_version(dict, std::string(25, '\0'))),
                 "trailing bytes: expected 24 bytes of data, got 25");
}

// Neither a false shape nor a false header length may make the reader allocate more than the file holds.
TEST_F(Npy, LyingHeadersAllocateNothing) {
  expect_refused(write(npy_of_version(dictionary("<f8", "(4000000000, 4000000000)"), "")),
                 "more than 2^63 bytes");
  expect_refused(write(npy_of_version(dictionary("<f8", "(1152921504606846976, 1)"), "")),
                 "more than 2^63 bytes");
  expect_refused(write(npy_of_version(dictionary("<f4", "(1000000000, 1000000)"), "abcd")),
                 "truncated: expected");
  std::string lying = npy_of_version(dictionary("<f4", "(1, 2)"), std::string(8, '\0'), 2);
  lying[8] = lying[9] = lying[10] = lying[11] = '\xff';
  expect_refused(write(lying), "truncated in the header: expected 4294967295 bytes");
}

TEST_F(Npy, UnwritableTargetsAreNamedAndNothingStays) {
  const Tensor t(Dtype::f32, 1, 2);
  const fs::path directory = folder_ / "taken";
  fs::create_directory(directory);
  for (const fs::path& file : {folder_ / "absent" / "a.npy", directory}) {
    try {
      write_npy(file, t);
      ADD_FAILURE() << file;
    } catch (const InputError& e) {
      EXPECT_EQ(std::string(e.what()).rfind(file.string() + ": cannot be written", 0), 0u) << e.what();
    }
  }
  EXPECT_THROW(write_npy(folder_ / "b.npy", Tensor(Dtype::bf16, 1, 2)), InputError);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Npy, AFailedWriteKeepsTheOldFile) {
  const fs::path file = write("old");
  EXPECT_THROW(write_npy(file, Tensor(Dtype::bf16, 1, 2)), InputError);
  EXPECT_EQ(slurp(file), "old");
  write_npy(file, Tensor(Dtype::f32, 1, 2));
  EXPECT_EQ(read_npy(file).V, 2);
}

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
