// SPDX-License-Identifier: Apache-2.0
// A CUDA file rewritten for the host executor keeps its lines, its quoted text and its macros.
#include "kernels/adapter/compile/host_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/builds.hpp"
#include "kernels/adapter/compile/compiler_log.hpp"
#include "kernels/adapter/compile/read_files.hpp"
#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

TEST(HostSource, KeepsLinesAndQuotedText) {
  const std::string source =
      "// k<<<1, 1>>>(x) stays\n"
      "const char* s = \"k<<<1, 1>>>(x) __shared__\"; auto r = R\"(\n__shared__ int a;)\";\n"
      "__global__ void k(int* p) {\n  __shared__ float a[4]\n    [8], b;\n  __shared__ alignas(16) struct { "
      "int n; } c;\n}\n"
      "void f(int* p) {\n  k<<<1,\n    2>>>(p /* > */);\n  t::k<int, (3 > 2)><<<dim3(1), f<2>(), 0, s>>>(p, "
      "g(1, 2));\n}\n";
  const std::string out =
      host_source(source, "a \"b\".cu", [](std::string_view, bool) { return std::string(); });
  EXPECT_TRUE(out.starts_with("#line 1 \"a \\\"b\\\".cu\"\n")) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(source.begin(), source.end(), '\n') + 1)
      << out;
  EXPECT_NE(out.find("// k<<<1, 1>>>(x) stays"), std::string::npos);
  EXPECT_NE(out.find("\"k<<<1, 1>>>(x) __shared__\""), std::string::npos);
  EXPECT_NE(out.find("\n__shared__ int a;)\""), std::string::npos);
  EXPECT_EQ(out.find("__shared__ float"), std::string::npos) << out;
  EXPECT_NE(out.find("::assay_cuda::launch(dim3(1), f<2>(), 0, s)"), std::string::npos) << out;
  EXPECT_NE(out.find("t :: k < int , ( 3 > 2 ) >(assay_a...)"), std::string::npos) << out;
}

TEST(HostSource, LaunchesInMacrosThatGoOnInTheNextLine) {
  const std::string source =
      "#define L(n, x) case n: \\\n  k<n, float> \\\r\n  <<<rows, 32, /* a */ \\\n 0, s>>>(in, \\\n #x); \\\n"
      "  break;\nvoid f() {\n  __shared__ int \\\n a;\n}\n";
  const std::string out = host_source(source, "m.cu", [](std::string_view, bool) { return std::string(); });
  EXPECT_EQ(out.find("<<<"), std::string::npos) << out;
  EXPECT_NE(out.find("k < n , float >(assay_a...)"), std::string::npos) << out;
  EXPECT_NE(out.find("#x"), std::string::npos) << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(source.begin(), source.end(), '\n') + 1)
      << out;
  // Every line of the macro except the last must end in a splice.
  std::istringstream lines(out.substr(out.find("#define")));
  std::string line;
  for (int n = 0; n < 5; ++n) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(line.ends_with("\\") || line.ends_with("\\\r")) << line;
  }
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_TRUE(line.ends_with("break;")) << line;
}

// What is read from compilers' logs, in the form that g++, clang++ and nvcc write.

TEST(CompilerLog, NamesTheFirstWordThatTheExecutorHasNot) {
  EXPECT_EQ(unspoken("In file included from x_adapter.cpp:34:\n"
                     "my.cu:7:3: error: \u2018best\u2019 was not declared in this scope\n"
                     "my.cu:8:17: error: \u2018__viaddmax_s32\u2019 was not declared in this scope; did you "
                     "mean \u2018__fmax\u2019?\n"
                     "my.cu:9:17: error: \u2018__other\u2019 was not declared in this scope\n"),
            "my.cu:8:17: unsupported: executor: __viaddmax_s32 (the host executor has no such word; without "
            "--host nvcc may)");
  EXPECT_EQ(unspoken("my.cu:2:1: error: 'cudaGraph_t' does not name a type\n").substr(0, 47),
            "my.cu:2:1: unsupported: executor: cudaGraph_t (");
  EXPECT_EQ(unspoken("my.cu:2:1: error: use of undeclared identifier '__vmaxs2'\n").substr(0, 44),
            "my.cu:2:1: unsupported: executor: __vmaxs2 (");
  // A word that the executor refuses by name is reported first.
  EXPECT_EQ(
      unspoken("my.cu:1:1: error: '__foo' was not declared in this scope\n"
               "my.cu:2:2: error: unsupported: executor: <mma.h>\n"),
      "my.cu:2:2: unsupported: executor: <mma.h> (the host executor does not speak it; without --host nvcc "
      "does)");
  for (const char* other : {"", "my.cu:2:1: error: 'best' was not declared in this scope\n",
                            "my.cu:2:1: error: expected ';' before '__shared__'\n",
                            "note: '__foo' was not declared in this scope\n"})
    EXPECT_EQ(unspoken(other), "") << other;
}

TEST(CompilerLog, ReadsNvccsWordsOfAMisfit) {
  const auto why = [](const std::string& message) {
    return misfit("b/x-1_adapter.cu(39): error: " + message + "\n      f(in);\n", "f", "my.cu",
                  {"namespace a::b { struct S { void f(int); }; void f(int) { f(1); } }\n"
                   "extern \"C\" { namespace { void f(float); } }\n"},
                  "x.log");
  };
  EXPECT_EQ(why("too many arguments in function call"),
            "my.cu: 'f' takes fewer arguments than --entry gives it");
  EXPECT_EQ(why("identifier \"f\" is undefined"),
            "my.cu: has no function 'f', but 'a::b::S::f', 'a::b::f': --entry takes the whole name");
  EXPECT_EQ(why("a nonstatic member reference must be relative to a specific object"),
            "my.cu: 'f' is called on an object: --entry takes a function, or a static member function");
  EXPECT_EQ(why("something else"),
            "my.cu does not compile as --entry calls 'f': something else (log: x.log)");
  // The file's own errors are reported as they are.
  EXPECT_EQ(misfit("my.cu(3): error: too few arguments in function call\nx_adapter.cu(39): error: no\n", "f",
                   "my.cu", {}, "x.log"),
            "");
  EXPECT_EQ(misfit("", "f", "my.cu", {}, "x.log"), "");
}

TEST(CompilerLog, TheFirstErrorInOneLine) {
  EXPECT_EQ(
      first_error(
          "In file included from a:1:\nmy.cu:3:1: error: \u2018x\u2019 is wrong\n  x\nmy.cu:4:1: error: y\n"),
      "my.cu:3:1: error: 'x' is wrong, and 1 more");
  EXPECT_EQ(first_error("my.cu:2:10: fatal error: torch/extension.h: No such file or directory\n"),
            "my.cu:2:10: fatal error: torch/extension.h: No such file or directory");
  EXPECT_EQ(
      first_error("/usr/bin/ld: /tmp/x.o: in function `f': x.cpp:3: undefined reference to `launch(int)'\n"),
      "nothing that is compiled here defines `launch(int)'");
  EXPECT_EQ(first_error("2 errors detected in the compilation of \"my.cu\".\n"), "");
  EXPECT_TRUE(in_adapter("x-1_adapter.cu(39): error: no\nmy.cu(3): error: no\n"));
  EXPECT_FALSE(in_adapter("my.cu(3): error: no\nx-1_adapter.cu(39): error: no\n"));
  EXPECT_FALSE(in_adapter("undefined reference to `f'\n"));
}

TEST(CompilerLog, FunctionsThatMacrosMake) {
  const std::set<std::string> pastes = {
      "int a;\n#define MAKE(T) \\\n  void softmax_##T(T* x) {}\nMAKE(float)\n"};
  EXPECT_EQ(behind_macro("softmax_half", "my.cu", pastes).why,
            "my.cu: has no function 'softmax_half', which --entry names; the macro 'MAKE' (line 2) makes "
            "names by ##: "
            "--entry takes one that a use of it makes");
  EXPECT_EQ(behind_macro("MAKE", "my.cu", pastes).why,
            "my.cu: 'MAKE' is a macro (line 2): --entry takes the function that it makes or calls");
  EXPECT_EQ(behind_macro("f", "my.cu", {"#define N 3\n#include <x>\n"}).why, "");
}

TEST(CompilerLog, ATemplateThatIsNotDeduced) {
  EXPECT_EQ(misfit("x_adapter.cpp:4:7: error: no matching function for call to 'f(int)'\n"
                   "note: couldn't deduce template parameter 'T'\n",
                   "f", "my.cu", {}, "x.log"),
            "my.cu does not compile as --entry calls 'f': no matching function for call to 'f(int)'; the "
            "arguments of a "
            "template can be given, as in 'f<float>' (log: x.log)");
}

// What a compilation reads is what the compiler says: however a file is named, and also what would be found
// first.

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

// __DATE__ hangs on the contents of the files and on nothing else.

TEST(Moment, IsOfTheContentsAndNotOfTheirPlaces) {
  const std::int64_t here = moment_of({{"/here/a.cu", "one"}, {"/here/b.h", "two"}});
  EXPECT_EQ(moment_of({{"/there/z.cu", "one"}, {"/there/b.h", "two"}}), here);
  EXPECT_NE(moment_of({{"/here/a.cu", "one"}, {"/here/b.h", "three"}}), here);
  EXPECT_NE(moment_of({{"/here/a.cu", "one"}}), here);
  for (const char* text : {"a", "b", "c", "d", "e", "f"}) {
    const std::int64_t moment = moment_of({{"/a.cu", text}});
    EXPECT_GE(moment, 1735689600) << "2025";
    EXPECT_LT(moment, 2051222400) << "2035";
  }
}

}  // namespace
}  // namespace assay
