// SPDX-License-Identifier: Apache-2.0
// Modules that look for whoever judges them, and try to have another function judged than the one that is
// named. The named one returns 1/V, so a launch whose row is right has been deceived.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "kernels/fault_kind.hpp"
#include "kernels/isolation/isolation_test.hpp"
#include "kernels/isolation/loaded/loaded_files.hpp"
#include "kernels/python/python_test.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

/// A folder with the modules that hostile/modules.txt contains, and what they import.
const std::filesystem::path& hostile_modules() {
  static const TestFolder folder;
  static const bool written = [] {
    const std::filesystem::path from = std::string(ASSAY_SOURCE_DIR) + "/kernels/python/hostile";
    for (const char* file : {"rows_of.py", "garbage.py"})
      std::filesystem::copy_file(from / file, folder.path() / file);
    std::ifstream in(from / "modules.txt");
    std::ofstream out;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("== "))
        out = std::ofstream(folder.path() / line.substr(3));
      else
        out << line << '\n';
    }
    return true;
  }();
  (void)written;
  return folder.path();
}

PythonCallable hostile(const std::string& file) {
  PythonCallable c = callable(file, "softmax");
  c.place = hostile_modules() / file;
  c.host = true;
  return c;
}

void expect_wrong(const std::string& file) {
  const Variant v = load_python(hostile(file)).at(0);
  for (int call = 0; call < 3; ++call) {
    isolation::Trial t(3, 33);
    EXPECT_EQ(t.run(v).fault, "") << file;
    EXPECT_FALSE(t.right()) << file << ": another function was judged, call " << call;
  }
}

TEST(PythonHostile, NobodyWhoHoldsTheCallableIsFound) {
  ASSAY_NEEDS_PYTHON("ctypes");
  for (const char* file : {"sys_modules.py", "garbage.py", "frames.py"}) expect_wrong(file);
}

TEST(PythonHostile, NothingOnTheStackLooksLikeAJudge) {
  ASSAY_NEEDS_PYTHON("ctypes");
  for (const char* file : {"stack.py", "traced.py"}) expect_wrong(file);
}

TEST(PythonHostile, WhatIsReplacedIsNotUsed) {
  ASSAY_NEEDS_PYTHON("ctypes");
  for (const char* file : {"builtin.py", "at_exit.py"}) expect_wrong(file);
}

TEST(PythonHostile, NumpysFunctionsAreItsOwn) {
  ASSAY_NEEDS_PYTHON("numpy");
  expect_wrong("numpy_functions.py");
  try {
    load_python(hostile("numpy_at_import.py"));
    FAIL() << "it was loaded";
  } catch (const InputError& e) {
    EXPECT_STREQ(
        e.what(),
        "numpy_at_import.py:softmax: numpy.ndarray, numpy.dtype or numpy.asarray is not NumPy's own");
  }
}

TEST(PythonHostile, TorchsFunctionsAreItsOwn) {
  ASSAY_NEEDS_PYTHON("torch");
  expect_wrong("torch_functions.py");
}

TEST(PythonHostile, TheCallableStaysTheNamedOne) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const struct {
    const char *file, *says;
  } all[] = {{"other_object.py", "softmax is another object than the one that was named"},
             {"other_code.py", "softmax has other code than the one that was named"}};
  for (const auto& one : all) {
    const Variant v = load_python(hostile(one.file)).at(0);
    isolation::Trial first(3, 33), second(3, 33);
    EXPECT_EQ(first.run(v).fault, "") << one.file;
    EXPECT_TRUE(first.right()) << one.file;
    const LaunchOutcome o = second.run(v);
    EXPECT_EQ(o.fault, one.says) << one.file;
    EXPECT_EQ(o.kind, FaultKind::other) << one.file;
  }
  const Variant v = load_python(hostile("every_look.py")).at(0);
  isolation::Trial t(3, 33);
  EXPECT_EQ(t.run(v).fault, "softmax is another object than the one that was named");
}

TEST(PythonHostile, EveryWorkerExecutesTheBytesThatWereRead) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const TestFolder folder;
  PythonCallable c = callable("target.py", "f");
  c.place = folder.path() / "target.py";
  const auto write = [&](const std::string& number) {
    std::ofstream(c.place) << "import inspect\nASSAY_TENSORS = 'dlpack'\ndef f(x, out):\n"
                           << "    raise ValueError(" << number << ", inspect.getsource(f).count('(" << number
                           << "'))\n";
  };
  const auto said = [](const Variant& v) {
    isolation::Trial t(3, 9);
    return t.run(v).fault;
  };
  write("1");
  const Variant v = load_python(c).at(0);
  EXPECT_EQ(said(v), "threw an exception: ValueError: (1, 2)");
  write("2");
  v.launcher->restart();
  EXPECT_EQ(said(v), "threw an exception: ValueError: (1, 2)");
  EXPECT_EQ(said(load_python(c).at(0)), "threw an exception: ValueError: (2, 2)");
}

// What a module of Python loads, as the supervisor sees it.

using isolation::LoadedFile;
using isolation::LoadedFiles;

const LoadedFile* file_called(const std::vector<LoadedFile>& all, const std::string& path) {
  const auto at = std::ranges::find(all, path, &LoadedFile::path);
  return at == all.end() ? nullptr : &*at;
}

std::string text_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

// Modules beside the target, data that is read and closed at once, and a library: none of them stays open.
TEST(PythonLoaded, AModuleOfPythonSaysAllThatItOpens) {
  ASSAY_NEEDS_PYTHON("ctypes");
  if (!std::filesystem::exists(isolation::fixture("fixture_right")))
    GTEST_SKIP() << "the fixtures are not here";
  const TestFolder folder;
  const std::filesystem::path at = std::filesystem::canonical(folder.path());
  const std::string helper = text_file(at / "helper_of_it.py", "def factor():\n    return 1\n");
  const std::string data = text_file(at / "weights.bin", "0123456789");
  const std::string library = at / "library_of_it.so";
  std::filesystem::copy_file(isolation::fixture("fixture_right"), library);
  PythonCallable c = callable("target.py", "f");
  c.place = at / "target.py";
  std::ofstream(c.place) << "import ctypes\nimport helper_of_it\nASSAY_TENSORS = 'dlpack'\n"
                         << "def f(x, out):\n    ctypes.CDLL('" << library << "')\n"
                         << "    open('" << data << "').read()\n";
  {
    const Variant v = load_python(c).at(0);
    isolation::Trial t(2, 9);
    EXPECT_EQ(t.run(v).fault, "");
    EXPECT_NE(file_called(LoadedFiles::of(c.place).all(), helper), nullptr)
        << "a worker that is alive is asked, too";
  }
  const std::vector<LoadedFile> all = LoadedFiles::of(c.place).all();
  const struct {
    const std::string &path, role;
  } expected[] = {{helper, "module"}, {data, "data"}, {library, "library"}};
  for (const auto& one : expected) {
    const LoadedFile* const file = file_called(all, one.path);
    ASSERT_NE(file, nullptr) << one.path;
    EXPECT_EQ(file->role, one.role) << one.path;
    EXPECT_EQ(file->sha256, sha256_of_file(one.path));
  }
  EXPECT_EQ(executed_sha256(c.place), sha256_of_file(c.place));
  EXPECT_TRUE(std::ranges::any_of(all, [](const LoadedFile& f) { return f.role == "runtime"; }));
}

// What a callable's parameters are taken for: by --arg, by their names, by their positions. There are no
// verdicts here: reports/cli/check/python.calls has them.

Variant raw_operands(const std::string& function, const std::vector<std::string>& arguments = {},
                     Op op = Op::softmax) {
  PythonCallable c = callable("raw_rows.py", function);
  c.arguments = arguments;
  c.op = op;
  return load_python(c).at(0);
}

std::string operands(const std::string& function, const std::vector<std::string>& arguments = {}) {
  return text_of(raw_operands(function, arguments).operands);
}

std::string refusal_of_operands(const std::string& function, const std::vector<std::string>& arguments = {},
                                Op op = Op::softmax) {
  try {
    raw_operands(function, arguments, op);
  } catch (const InputError& e) {
    const std::string text = e.what(), who = "raw_rows.py:" + function + ": ";
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text.starts_with(who) ? text.substr(who.size()) : text;
  }
  return "it was accepted";
}

TEST(PythonOperands, NamesAndArgumentsSayWhatIsRead) {
  ASSAY_NEEDS_PYTHON("ctypes");
  EXPECT_EQ(operands("any_name"), "");
  EXPECT_EQ(operands("scaled"), "scale");
  EXPECT_EQ(operands("cut"), "lengths:i64");
  EXPECT_EQ(operands("cut", {"lengths=lengths:i32"}), "lengths:i32");
  EXPECT_EQ(operands("masked", {"mask=mask_keep"}), "mask_keep:u8");
  EXPECT_EQ(operands("masked", {"mask=mask_drop:i32"}), "mask_drop:i32");
  EXPECT_EQ(operands("masked", {"mask=bias:bf16"}), "bias:bf16");
  EXPECT_EQ(operands("two_biases", {"bias_row=None"}), "bias:f32");
  EXPECT_EQ(operands("two_biases", {"bias=0"}), "bias_row:f32");
  EXPECT_EQ(operands("two_unknown", {"a=temperatures", "b=out"}), "temperatures");
  const std::string file = raw_operands("masked", {"mask=mask_keep"}).file;
  EXPECT_NE(file.find("host memory, mask as mask_keep; "), std::string::npos) << file;
}

TEST(PythonOperands, ABiasHasTheTypeOfTheLogits) {
  ASSAY_NEEDS_PYTHON("ctypes");
  PythonCallable c = callable("raw_rows.py", "masked");
  c.types = {{Dtype::f16, Dtype::f32}, {Dtype::bf16, Dtype::bf16}};
  c.arguments = {"mask=bias"};
  const std::vector<Variant> all = load_python(c);
  EXPECT_EQ(text_of(all.at(0).operands), "bias:f16");
  EXPECT_EQ(text_of(all.at(1).operands), "bias:bf16");
}

// The names of the parameters of the file's functions, passed in every way that Python has.
TEST(PythonOperands, EveryParameterGetsWhatItIs) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const struct {
    const char* function;
    std::vector<std::string> arguments;
  } all[] = {{"any_name", {}},
             {"keyword_alone", {}},
             {"switch", {}},
             {"blas", {}},
             {"masked_by_default", {"mask=None"}},
             {"rows_and_columns", {"out=out", "x=in", "n_rows=rows", "n_columns=V", "block=16"}}};
  for (const auto& one : all) {
    isolation::Trial t(3, 33);
    EXPECT_EQ(t.run(raw_operands(one.function, one.arguments)).fault, "") << one.function;
    EXPECT_TRUE(t.right()) << one.function;
  }
  isolation::Trial t(3, 33);
  EXPECT_EQ(t.run(raw_operands("any_words", {"flag=True", "eps=-0.5", "what=None"})).fault, "");
}

TEST(PythonOperands, AMaskIsNoOutputAndIsAskedAbout) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const std::string question =
      "mask is a mask: what does it mean? --arg mask=mask_keep leaves out what is False; --arg "
      "mask=mask_drop leaves out what is True; --arg mask=bias adds it";
  EXPECT_EQ(refusal_of_operands("masked"), question);
  EXPECT_EQ(refusal_of_operands("masked_by_default"), question + "; --arg mask=None passes no mask");
}

TEST(PythonOperands, WhatSaysTooLittleIsAskedAbout) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const std::string says =
      "=VALUE (16, None) or --arg n=ROLE (rows, V, mask_keep, mask_drop, bias, bias_row, lengths, "
      "temperatures, scale, temperature) says it";
  EXPECT_EQ(refusal_of_operands("one_unknown"), "what is n? --arg n" + says);
  const std::string two = refusal_of_operands("two_unknown");
  EXPECT_TRUE(
      two.starts_with("which of a and b is the output? --arg NAME=out says it. For another parameter, --arg "
                      "NAME=VALUE (16, None) or --arg NAME=ROLE (rows, V, "))
      << two;
  EXPECT_EQ(refusal_of_operands("two_unknown", {"a=out", "b=3"}), "it was accepted");
  EXPECT_EQ(refusal_of_operands("two_scales"),
            "scale already is the scale: --arg sm_scale=... says what sm_scale is");
  EXPECT_EQ(refusal_of_operands("two_biases"),
            "bias is bias and bias_row is bias_row: a call has one of them");
  EXPECT_EQ(refusal_of_operands("nobody"), "no parameter is left for the logits");
  EXPECT_EQ(refusal_of_operands("placed"),
            "scale has no keyword, so flag in front of it needs a value: --arg flag=VALUE");
  EXPECT_EQ(refusal_of_operands("any_name", {"z=1"}),
            "--arg z=1: no such parameter: its parameters are x and y");
  EXPECT_EQ(refusal_of_operands("nobody", {"z=1"}), "--arg z=1: no such parameter: it has none");
  EXPECT_EQ(refusal_of_operands("any_name", {"y=k"}), "softmax has no k: --arg y=... says what y is");
}

TEST(PythonOperands, ATopKHasFactorsOfTheLogitsOnly) {
  ASSAY_NEEDS_PYTHON("ctypes");
  EXPECT_EQ(text_of(raw_operands("top", {}, Op::topk).operands), "temperature");
  EXPECT_EQ(refusal_of_operands("masked", {}, Op::topk),
            "mask is not judged for topk: --arg mask=None checks it at that value and no other");
  EXPECT_EQ(
      refusal_of_operands("masked", {"mask=mask_keep"}, Op::softmax_topk),
      "mask: mask_keep is not judged for softmax_topk: --arg mask=None checks it at that value and no other");
  EXPECT_EQ(refusal_of_operands("scaled", {}, Op::softmax_topk),
            "scale: does it scale the logits or the results? --arg scale=scale says the logits; --arg "
            "scale=1 checks it at that value and no other");
  EXPECT_EQ(refusal_of_operands("top", {"temperature=1"}, Op::topk), "it was accepted");
  EXPECT_EQ(
      refusal_of_operands("top_into", {}, Op::topk),
      "what is values? A callable takes both outputs, values and indices, or none. --arg values=VALUE (16, "
      "None) or --arg values=ROLE (rows, V, temperatures, scale, temperature) says it");
  EXPECT_EQ(refusal_of_operands("top_into", {"values=out"}, Op::topk),
            "no parameter takes indices: a callable takes all outputs as parameters, or none");
}

}  // namespace
}  // namespace assay
