// SPDX-License-Identifier: Apache-2.0
// Flags that come from a file say what is compiled, and neither run a program nor reach outside the folder.
#include "kernels/adapter/toolchain/flags.hpp"

#include <gtest/gtest.h>

#include <filesystem>

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

}  // namespace
}  // namespace assay
