// SPDX-License-Identifier: Apache-2.0
// Flags that come from a file say what is compiled, and neither run a program nor reach outside the folder.
#include "kernels/adapter/toolchain/flags.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels/adapter/toolchain/compiler.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class CompilerFlags : public ::testing::Test {
 protected:
  std::string refused(const std::string& line) const { return refused_flag(line, own_.path()); }
  TestFolder own_;
};

TEST_F(CompilerFlags, WhatAKernelIsCompiledWithPasses) {
  fs::create_directories(own_.path() / "inc/deep");
  for (const char* line : {"",
                           "-DBLOCK=256",
                           "-D BLOCK=256 -U NDEBUG",
                           "-DNAME",
                           "-DTYPE=float",
                           "-DSCALE=1.5e-3f",
                           "-DN=4*1024",
                           "--define-macro X=1",
                           "--define-macro=X=1",
                           "-Iinc",
                           "-I inc/deep",
                           "-I.",
                           "-I ./inc",
                           "--include-path=inc",
                           "-isystem inc",
                           "-include pre.h",
                           "--pre-include=inc/pre.h",
                           "-I'inc with blanks'",
                           "-O3",
                           "-O 2",
                           "--optimize=1",
                           "-std=c++17",
                           "--std c++20",
                           "-std=gnu++20",
                           "--use_fast_math",
                           "-use_fast_math",
                           "-ftz=true",
                           "-ftz true",
                           "--prec-div=false",
                           "-prec-sqrt=false",
                           "-fmad=false",
                           "-arch=sm_90a",
                           "-arch sm_90",
                           "--gpu-architecture=native",
                           "-gencode arch=compute_90,code=sm_90",
                           "-gencode=arch=compute_80,code=[sm_80,compute_80]",
                           "--generate-code arch=compute_90a,code=sm_90a",
                           "--expt-relaxed-constexpr --extended-lambda -lineinfo",
                           "-maxrregcount=64",
                           "--maxrregcount 64",
                           "-rdc=true",
                           "-default-stream per-thread",
                           "-Xcompiler -fPIC,-O3",
                           "-Xcompiler=-Wall",
                           "-Xptxas -v,-O3",
                           "--diag-suppress=177,20012"})
    EXPECT_EQ(refused(line), "") << line;
}

TEST_F(CompilerFlags, WhatRunsReadsOrWritesSomethingElseIsRefused) {
  for (const char* line :
       {// another program, or a part of one
        "-ccbin ./compiler", "--compiler-bindir=./compiler", "--compiler-bindir ./compiler", "-ccbin=./c",
        "-Xcompiler -fplugin=./p.so", "-Xcompiler -wrapper,./p", "-Xcompiler=-B.", "-Xcompiler -O2,-B.",
        "-Xcompiler '-O2 -B.'", "--compiler-options -specs=x", "-Xlinker -plugin", "-Xarchive x",
        "-arbin ./ar", "--archiver-binary ./ar", "--run", "-run", "--run-args x", "-ldir .",
        "--libdevice-directory=.", "--target-directory=.", "-target-dir x", "-tp x", "-Xnvlink x",
        "-Xptxas --override-directive-values", "-Xptxas -v,-o", "-fplugin=./p.so",
        "--forward-unknown-to-host-compiler", "-forward-unknown-opts", "-hls gen-lcs", "-Wl,-z,x", "-B.",
        "-use-local-env",
        // more options
        "@more", "-D @more", "-I @more", "--options-file more", "-optf more", "-optf=more", "-include @more",
        // libraries, outputs, inputs
        "-o out", "--output-file=out", "-oout", "-odir .", "-L.", "-L .", "-lcublas", "-l cublas",
        "--library=x", "-x cu", "-x=c", "other.cu", "-", "--", "-MF x", "-MD", "-keep", "--keep-dir=x",
        "-save-temps", "--time x", "-fdevice-time-trace x", "-E", "-M", "-c", "-dc", "-lib", "-dryrun",
        "-jobserver", "-qpp-config x",
        // paths outside
        "-I/etc", "-I /etc", "-I..", "-I inc/../..", "-I=..", "-I=/etc", "-I ''", "-I",
        "-include /etc/passwd", "-include ../x.h", "--pre-include=/etc/passwd", "-isystem /usr", "-I~/x",
        "-Iinc,/etc", "-I'inc\"/etc'", "-I-", "-iquote x", "-idirafter x", "-imacros /etc/passwd",
        "-include -x", "--sysroot=x",
        // what a shell runs: nvcc hands its arguments to one
        "'-DX=$(touch pwned)'", "'-DX=`touch pwned`'", "'-DX=1;touch pwned'", "'-DX=\"$(touch pwned)\"'",
        "'-DX=a b'", "'-DX=a\nb'", "-D 'X=1 -o y'", "'-DX=1|x'", "'-I$(touch pwned)'", "'-I`touch pwned`'",
        "-DX=a,b", "-DX,Y", "-D@x", "-D=x", "-D1X", "-D", "-D ''", "-D -ccbin", "-U -x", "-Ux=1", "-DX=\\x",
        "-DX(a)=a", "-DX='$HOME'", "-DX=~",
        // values
        "-arch=../x", "-arch=sm_", "-arch=sm_90,x", "-arch", "-gencode arch=compute_90",
        "-gencode 'arch=sm_90,code=x'", "-gencode arch=compute_90,code=sm_90,-o", "-O4", "-Ofast", "-O",
        "-std=c++17x", "-std=c", "-std", "-ftz", "-ftz=1", "-ftz=true,x", "-maxrregcount=-1",
        "-maxrregcount x", "--diag-suppress x", "-t x", "-w -ccbin x", "-Xcompiler", "-Xcompiler ''",
        "'-D' 'A' 'b'", "'", "-D'X"})
    EXPECT_NE(refused(line), "") << line;
}

TEST_F(CompilerFlags, ALinkDoesNotLeadOut) {
  fs::create_directory_symlink("/etc", own_.path() / "inc");
  fs::create_directories(own_.path() / "here");
  fs::create_directory_symlink("here", own_.path() / "there");
  EXPECT_NE(refused("-Iinc"), "");
  EXPECT_NE(refused("-include inc/passwd"), "");
  EXPECT_EQ(refused("-Ithere"), "");
}

TEST_F(CompilerFlags, TheLineNamesTheWordAndIsOne) {
  const std::string text = refused("-O3 -ccbin ./compiler");
  EXPECT_TRUE(text.starts_with("compiler flag '-ccbin' can not come from a file")) << text;
  const std::string painted = refused("'-X\n\x1b[31mred'");
  EXPECT_EQ(painted.find('\n'), std::string::npos) << painted;
  EXPECT_EQ(painted.find('\x1b'), std::string::npos) << painted;
}

// A compiler is ended by limits of time and of what it writes, sees a list of variables only, and writes in
// one folder.

namespace fs = std::filesystem;

class CompilerRuns : public ::testing::Test {
 protected:
  int run(const std::string& script) {
    return run_compiler(
        {.words = {"/bin/sh", "-c", script}, .writable = own_.path(), .log = own_.path() / "log"});
  }
  std::string log() const { return start_of_log(own_.path() / "log"); }
  TestFolder own_;
};

TEST_F(CompilerRuns, ItsStatusAndItsWordsComeBack) {
  EXPECT_EQ(run("echo words; echo errors >&2; exit 3"), 3);
  EXPECT_EQ(log(), "words\nerrors\n");
  EXPECT_EQ(over_a_limit(log(), 3), "");
  EXPECT_EQ(run("echo made > " + (own_.path() / "made").string()), 0);
  EXPECT_TRUE(fs::exists(own_.path() / "made"));
}

TEST_F(CompilerRuns, ItIsEndedAfterItsTimeWithAllThatItStarted) {
  setenv("ASSAY_COMPILER_TIMEOUT", "1", 1);
  const auto begin = std::chrono::steady_clock::now();
  std::string said;
  try {
    run("sleep 60 & echo $! ; sleep 60");
  } catch (const InputError& e) {
    said = e.what();
  }
  EXPECT_EQ(said, "the compiler was ended after 1 s (ASSAY_COMPILER_TIMEOUT)");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  for (const char* bad : {"", "0", "x", "-1", "1s"}) {
    setenv("ASSAY_COMPILER_TIMEOUT", bad, 1);
    EXPECT_THROW(run("true"), InputError) << bad;
  }
  unsetenv("ASSAY_COMPILER_TIMEOUT");
}

TEST_F(CompilerRuns, AFileGrowsToOneGibibyteOnly) {
  const fs::path file = own_.path() / "large";
  const int status = run("dd if=/dev/zero of=" + file.string() + " bs=1 count=1 seek=1073741824 2>&1");
  EXPECT_NE(status, 0);
  EXPECT_NE(over_a_limit(log(), status), "") << status << " " << log();
}

TEST_F(CompilerRuns, ItSeesAListOfVariablesOnly) {
  setenv("ASSAY_TEST_SECRET", "token", 1);
  setenv("CPATH", "/nowhere/include", 1);
  ASSERT_EQ(run("env"), 0);
  EXPECT_EQ(log().find("token"), std::string::npos) << log();
  EXPECT_NE(log().find("CPATH=/nowhere/include"), std::string::npos) << log();
  EXPECT_NE(log().find("LC_ALL=C\n"), std::string::npos) << log();
  EXPECT_NE(log().find("SOURCE_DATE_EPOCH=0\n"), std::string::npos) << log();
  EXPECT_NE(log().find("TMPDIR=" + own_.path().string()), std::string::npos) << log();
  const std::vector<std::string> inputs = compiler_inputs();
  EXPECT_EQ(std::count(inputs.begin(), inputs.end(), "CPATH=/nowhere/include"), 1);
  unsetenv("CPATH");
  unsetenv("ASSAY_TEST_SECRET");
}

/// With either guard. What it has made it may make executable.
TEST_F(CompilerRuns, InTheSandboxItWritesInOneFolder) {
  for (const bool hidden : {false, true}) {
    isolation::missing().bubblewrap = hidden;
    if (isolation::guard_of(isolation::Reach::host) == Guard::none) {
      std::printf("not tried: %s\n", isolation::guard_words(isolation::Reach::host).c_str());
      continue;
    }
    const TestFolder other;
    EXPECT_NE(run("echo x > " + (other.path() / "x").string()), 0);
    EXPECT_FALSE(fs::exists(other.path() / "x"));
    EXPECT_EQ(run("echo x > \"$TMPDIR/x\" && chmod 755 \"$TMPDIR/x\""), 0) << log();
    EXPECT_EQ(access((own_.path() / "x").c_str(), X_OK), 0) << log();
    EXPECT_EQ(run("env"), 0);
    EXPECT_NE(log().find("TMPDIR=" + own_.path().string()), std::string::npos) << log();
  }
  isolation::missing().bubblewrap = false;
}

}  // namespace
}  // namespace assay
