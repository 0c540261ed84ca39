// SPDX-License-Identifier: Apache-2.0
// What is read from compilers' logs, in the form that g++, clang++ and nvcc write.
#include "kernels/adapter/compile/compiler_log.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

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
  EXPECT_EQ(behind_macro("softmax_half", "my.cu", pastes),
            "my.cu: has no function 'softmax_half', which --entry names; the macro 'MAKE' (line 2) makes "
            "names by ##: "
            "--entry takes one that a use of it makes");
  EXPECT_EQ(behind_macro("MAKE", "my.cu", pastes),
            "my.cu: 'MAKE' is a macro (line 2): --entry takes the function that it makes or calls");
  EXPECT_EQ(behind_macro("f", "my.cu", {"#define N 3\n#include <x>\n"}), "");
}

TEST(CompilerLog, ATemplateThatIsNotDeduced) {
  EXPECT_EQ(misfit("x_adapter.cpp:4:7: error: no matching function for call to 'f(int)'\n"
                   "note: couldn't deduce template parameter 'T'\n",
                   "f", "my.cu", {}, "x.log"),
            "my.cu does not compile as --entry calls 'f': no matching function for call to 'f(int)'; the "
            "arguments of a "
            "template can be given, as in 'f<float>' (log: x.log)");
}

}  // namespace
}  // namespace assay
