// SPDX-License-Identifier: Apache-2.0
// What a compilation reads is what the compiler says: however a file is named, and also what would be found
// first.
#include "kernels/adapter/compile/read_files.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST(ReadFiles, ARuleForMakeIsRead) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(files_of_rule("a.o: a.cu /usr/b.h \\\n  c.h\n"), (Names{"a.cu", "/usr/b.h", "c.h"}));
  EXPECT_EQ(files_of_rule("a.so : a.cu \\\n    b.h\n\nb.h:\n"), (Names{"a.cu", "b.h"}));
  EXPECT_EQ(files_of_rule("x: my\\ file.h a$$b.h c\\#d.h e:f.h \\\r\n g.h"),
            (Names{"my file.h", "a$b.h", "c#d.h", "e:f.h", "g.h"}));
  EXPECT_EQ(files_of_rule("x: a\\b.h c\\\\\\ d.h"), (Names{"a\\b.h", "c\\ d.h"}));
  EXPECT_EQ(files_of_rule("a.o: a.cu a.h\nb.o: b.cu\n"), (Names{"a.cu", "a.h", "b.cu"}));
  EXPECT_TRUE(files_of_rule("").empty());
}

/// A project whose file includes in every way.
class ReadFilesOfAProject : public ::testing::Test {
 protected:
  void SetUp() override {
    write("quoted.cuh", "1");
    write("inc/lib/scale.cuh", "2");
    write("inc/named.h", "3");
    write("before.h", "4");
    write("absolute.h", "5");
    text(
        "file.cu",
        "#include \"quoted.cuh\"\n#include <lib/scale.cuh>\n#define WHERE \"named.h\"\n#include "
        "WHERE\n#include <" +
            (own_.path() / "absolute.h").string() +
            ">\n#if __has_include(\"asked.h\")\nint asked;\n#endif\nconst char* when = __DATE__ __TIME__;\n");
    words_ = {"-include", (own_.path() / "before.h").string(), "-I" + (own_.path() / "first").string(),
              "-I" + (own_.path() / "inc").string()};
    fs::create_directories(own_.path() / "first");
    fs::create_directories(own_.path() / "scratch");
  }
  void text(const std::string& name, const std::string& what) const {
    fs::create_directories((own_.path() / name).parent_path());
    std::ofstream(own_.path() / name, std::ios::binary) << what;
  }
  void write(const std::string& name, const std::string& value) const {
    std::string guard = "value_" + std::to_string(std::hash<std::string>{}(name));
    text(name, "static const int " + guard + " = " + value + ";\n");
  }
  /// Changes the file, asks before and after, and puts it back.
  void changes(const std::string& name, const std::function<std::string()>& ask) const {
    const std::string before = ask();
    ASSERT_EQ(ask(), before) << "nothing has changed";
    const bool was = fs::exists(own_.path() / name);
    const std::string old = was ? read_text(own_.path() / name) : "";
    text(name, old + "\nstatic const int more = 6;\n");
    EXPECT_NE(ask(), before) << name;
    if (was)
      text(name, old);
    else
      fs::remove(own_.path() / name);
    EXPECT_EQ(ask(), before) << name << " is as it was";
  }
  TestFolder own_;
  std::vector<std::string> words_;
};

TEST_F(ReadFilesOfAProject, AHostCompilerTellsOfEveryFile) {
  SystemHashes hashes(own_.path());
  const Compiler compiler = known_host_compiler(find_host_compiler(), own_.path(), hashes);
  EXPECT_EQ(compiler.sha256.size(), 64u);
  EXPECT_NE(compiler.version, "");
  std::vector<std::string> words = compiler.words;
  words.insert(words.end(), {"-std=gnu++20", "-x", "c++"});
  words.insert(words.end(), words_.begin(), words_.end());
  const auto ask = [&] {
    ReadFiles read;
    EXPECT_TRUE(ask_host_compiler(compiler, words, own_.path() / "file.cu", {own_.path()},
                                  own_.path() / "scratch", hashes, read));
    return hash_of(read);
  };
  for (const char* file :
       {"file.cu", "quoted.cuh", "inc/lib/scale.cuh", "inc/named.h", "before.h", "absolute.h",
        "first/lib/scale.cuh",  // found before the one that was found
        "asked.h"})             // not read, and decides
    changes(file, ask);
  text("file.cu", "#include \"nowhere.h\"\n");
  ReadFiles read;
  EXPECT_FALSE(ask_host_compiler(compiler, words, own_.path() / "file.cu", {own_.path()},
                                 own_.path() / "scratch", hashes, read));
  // A compiler that is asked again is not run again, and is the same.
  EXPECT_EQ(known_host_compiler(find_host_compiler(), own_.path(), hashes).sha256, compiler.sha256);
}

TEST_F(ReadFilesOfAProject, NvccTellsOfEveryFileOfEveryPass) {
  std::string nvcc;
  try {
    nvcc = find_nvcc();
  } catch (const std::exception& e) {
    GTEST_SKIP() << e.what();
  }
  write("device.h", "1");
  write("host.h", "1");
  text("file.cu", read_text(own_.path() / "file.cu") +
                      "#ifdef __CUDA_ARCH__\n#include \"device.h\"\n#else\n#include \"host.h\"\n#endif\n");
  SystemHashes hashes(own_.path());
  const Compiler compiler = known_nvcc(nvcc, {}, own_.path(), hashes);
  std::vector<std::string> words = {nvcc, "-arch=sm_90", (own_.path() / "file.cu").string()};
  words.insert(words.end(), words_.begin(), words_.end());
  const auto ask = [&] {
    ReadFiles read;
    EXPECT_TRUE(ask_nvcc(compiler, words, {own_.path()}, own_.path() / "scratch", hashes, read));
    return hash_of(read);
  };
  for (const char* file : {"file.cu", "inc/lib/scale.cuh", "inc/named.h", "before.h", "absolute.h",
                           "device.h", "host.h", "first/lib/scale.cuh"})
    changes(file, ask);
}

TEST_F(ReadFilesOfAProject, WhatIsNoFileIsRefused) {
  SystemHashes hashes(own_.path());
  EXPECT_THROW(hashed({"/dev/null"}, {}, hashes), InputError);
  EXPECT_THROW(hashed({(own_.path() / "none").string()}, {}, hashes), InputError);
}

}  // namespace
}  // namespace assay
