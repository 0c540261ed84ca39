// SPDX-License-Identifier: Apache-2.0
// Modules that look for whoever judges them, and try to have another function judged than the one that is
// named. The named one returns 1/V, so a launch whose row is right has been deceived.
#include <gtest/gtest.h>

#include <fstream>

#include "kernels/isolation/isolation_test.hpp"
#include "kernels/python/python_test.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

PythonCallable hostile(const std::string& file) {
  PythonCallable c = callable("../hostile/" + file, "softmax");
  c.shown = file + ":softmax";
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

}  // namespace
}  // namespace assay
