// SPDX-License-Identifier: Apache-2.0
// Callables in a Python worker: right ones give right rows, and every kind of mistake is reported.
#include "kernels/python/python_kernel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "kernels/device.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/isolation_test.hpp"
#include "kernels/python/python_test.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

Variant raw(const std::string& function, const IsolationOptions& options = {}) {
  return load_python(callable("raw_rows.py", function), options).at(0);
}

TEST(PythonKernel, ARightCallableWritesWhereItIsTold) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Variant v = raw("right");
  EXPECT_EQ(v.key(), "right/f32@plugin");
  EXPECT_EQ(v.op, Op::softmax);
  EXPECT_FALSE(v.declared);
  EXPECT_FALSE(on_device(v));
  EXPECT_NE(v.file.find("raw_rows.py:right (CPython 3."), std::string::npos) << v.file;
  EXPECT_NE(v.file.find("host memory"), std::string::npos) << v.file;
  for (const std::int64_t V : {1, 33, 1000}) {
    isolation::Trial t(3, V);
    const LaunchOutcome o = t.run(v);
    EXPECT_EQ(o.fault, "") << V;
    EXPECT_EQ(o.late_write, "") << V;
    EXPECT_TRUE(t.right()) << V;
  }
}

/// A sandbox refuses some system calls: none that these need.
TEST(PythonKernel, ItMayAskOtherProcesses) {
  ASSAY_NEEDS_PYTHON("ctypes, multiprocessing, asyncio");
  const Variant v = raw("asks_other_processes");
  isolation::Trial t(3, 33);
  EXPECT_EQ(t.run(v).fault, "");
  EXPECT_TRUE(t.right());
}

TEST(PythonKernel, WhatItReturnsIsCopiedRowByRow) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Variant v = raw("same");
  isolation::Trial t(3, 32);
  // The same memory, now as rows of 20 elements with input pitch 32 and output pitch 24.
  t.problem.V = 20;
  t.problem.out_pitch = 24;
  ASSERT_EQ(t.run(v).fault, "");
  for (int row = 0; row < 3; ++row)
    for (int i = 0; i < 24; ++i) {
      const float got = t.values()[24 * row + i];
      if (i < 20)
        EXPECT_EQ(got, t.logits()[32 * row + i]) << row << " " << i;
      else
        EXPECT_TRUE(std::isnan(got)) << "between the rows: " << row << " " << i;
    }
}

TEST(PythonKernel, TwoAtTheSameTime) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Variant v = raw("right");
  isolation::Trial a(3, 33), b(3, 33);
  for (int i = 0; i < 99; ++i) b.logits()[i] = static_cast<float>(i % 7);
  const auto both = v.launcher->launch_both(v, a.problem, {&a.images, &b.images}, {});
  for (const LaunchOutcome& o : both) EXPECT_EQ(o.fault, "");
  EXPECT_TRUE(a.right());
  EXPECT_TRUE(b.right());
}

TEST(PythonKernel, EveryFaultIsOneSentence) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const struct {
    const char *function, *says;
    FaultKind kind;
  } all[] = {
      {"throws", "threw an exception: ValueError: V must be a multiple of 4", FaultKind::threw},
      {"nothing", "returned None: a callable that takes no outputs returns them", FaultKind::other},
      {"number", "returned float of shape [], which has no __dlpack__", FaultKind::other},
      {"other_shape", "returned a tensor of another shape than the output's", FaultKind::other},
      {"leaves", "exited with status 3", FaultKind::died},
      {"writes_to_null", "segmentation fault: a write at address 0x10, near a null pointer",
       FaultKind::wild_access},
  };
  for (const auto& one : all) {
    const Variant v = raw(one.function);
    isolation::Trial t(3, 33);
    const LaunchOutcome o = t.run(v);
    EXPECT_EQ(o.fault, one.says) << one.function;
    EXPECT_EQ(o.kind, one.kind) << one.function;
  }
}

TEST(PythonKernel, MemoryBehindTheOutputsIsNotItsOwn) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Variant v = raw("past_the_end");
  isolation::Trial t(3, 33);
  ASSERT_EQ(t.run(v).fault, "");
  EXPECT_EQ(t.values()[99], 1.0f) << "the guard band shows it";
  // If the last row ends at the end of a page, the write is a fault.
  const LaunchOutcome o = t.run(v, {.page_end = true});
  EXPECT_EQ(o.kind, FaultKind::wild_access) << o.fault;
  EXPECT_NE(o.fault.find("a write at byte 396 of the values, which have 396"), std::string::npos) << o.fault;
}

TEST(PythonKernel, AThreadThatWritesLaterIsSeen) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Variant v = raw("late");
  isolation::Trial t(3, 33);
  const LaunchOutcome o = t.run(v);
  EXPECT_EQ(o.fault, "");
  EXPECT_EQ(o.late_write, "the values changed after the launch had ended");
}

TEST(PythonKernel, TheFirstCallOfAShapeMayCompile) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Variant slow = raw("slow_at_first", {.timeout_seconds = 0.3});
  for (const std::int64_t V : {5, 6, 5}) {
    isolation::Trial t(2, V);
    EXPECT_EQ(t.run(slow).fault, "") << V;
    EXPECT_TRUE(t.right()) << V;
  }
  const Variant hangs = raw("slow_from_the_second", {.timeout_seconds = 0.3});
  isolation::Trial t(2, 5);
  EXPECT_EQ(t.run(hangs).fault, "");
  const LaunchOutcome o = t.run(hangs);
  EXPECT_EQ(o.ended, Ended::hung);
  EXPECT_EQ(o.fault, "nothing came back within 0.3 s");
}

TEST(PythonKernel, IndicesAndMethods) {
  ASSAY_NEEDS_PYTHON("ctypes");
  PythonCallable c = callable("raw_rows.py", "first_k");
  c.op = Op::topk;
  const Variant v = load_python(c).at(0);
  isolation::Trial t(2, 33);
  t.problem.op = Op::topk;
  t.problem.k = 3;
  t.problem.out_pitch = 3;
  t.images.indices = Image(2 * 3 * sizeof(std::int32_t), 0, 512);
  ASSERT_EQ(t.run(v).fault, "");
  const auto* const indices = reinterpret_cast<const std::int32_t*>(t.images.indices.payload());
  for (int row = 0; row < 2; ++row)
    for (int slot = 0; slot < 3; ++slot) {
      EXPECT_EQ(indices[3 * row + slot], 32 - slot);
      EXPECT_EQ(t.values()[3 * row + slot], static_cast<float>(32 - slot) / 8);
    }
  c = callable("raw_rows.py", "rows.softmax");
  c.name = "method";
  isolation::Trial rows(2, 33);
  EXPECT_EQ(rows.run(load_python(c).at(0)).fault, "");
  EXPECT_TRUE(rows.right());
}

template <class Error>
std::string refusal_of_callable(const PythonCallable& c) {
  try {
    load_python(c);
  } catch (const EnvironmentError& e) {
    return std::is_same_v<Error, EnvironmentError> ? e.what() : std::string("the environment: ") + e.what();
  } catch (const InputError& e) {
    return std::is_same_v<Error, InputError> ? e.what() : std::string("the call: ") + e.what();
  }
  return "it was accepted";
}

TEST(PythonKernel, WhatIsWrongWithACallIsOneLine) {
  ASSAY_NEEDS_PYTHON("ctypes");
  EXPECT_EQ(refusal_of_callable<InputError>(callable("nowhere.py", "f")),
            python_fixture("nowhere.py") + ": no such file");
  EXPECT_EQ(refusal_of_callable<InputError>(callable("raw_rows.py", "not_callable")),
            "raw_rows.py:not_callable: raw_rows.py: not_callable is not callable");
  const std::string has = refusal_of_callable<InputError>(callable("raw_rows.py", "softmax"));
  EXPECT_TRUE(has.starts_with("raw_rows.py:softmax: raw_rows.py has no softmax: it has Rows, ")) << has;
  EXPECT_NE(has.find(", right, "), std::string::npos) << has;
  const std::string syntax = refusal_of_callable<InputError>(callable("bad_syntax.py", "softmax"));
  EXPECT_TRUE(syntax.starts_with("bad_syntax.py:softmax: can not be imported: SyntaxError: ")) << syntax;
  PythonCallable module = callable("a_package.of_nobody", "f");
  module.is_file = false;
  module.place = "a_package.of_nobody";
  const std::string finds = refusal_of_callable<InputError>(module);
  EXPECT_NE(finds.find(" finds no module a_package from "), std::string::npos) << finds;
  for (const std::string& line : {has, syntax, finds}) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

TEST(PythonKernel, WhatTheMachineLacksIsSaid) {
  PythonCallable none = callable("raw_rows.py", "right");
  none.interpreter = "/nowhere/python";
  EXPECT_EQ(refusal_of_callable<EnvironmentError>(none), "--python /nowhere/python: is no executable file");
  none.interpreter = "python-of-nobody";
  const std::string path = refusal_of_callable<EnvironmentError>(none);
  EXPECT_TRUE(path.starts_with("python-of-nobody: is not on PATH: install it (Debian: apt-get install "))
      << path;
  ASSAY_NEEDS_PYTHON("ctypes");
  const std::string module = refusal_of_callable<EnvironmentError>(callable("lacks_module.py", "f"));
  EXPECT_NE(module.find("lacks_module.py imports a_module_that_nobody_has, which "), std::string::npos)
      << module;
  EXPECT_TRUE(module.ends_with(" -m pip install a_module_that_nobody_has")) << module;
}

// The program is no Python interpreter. What it printed shows what it was.
TEST(PythonKernel, AnInterpreterThatIsNone) {
  const TestFolder folder;
  const std::string path = folder.path() / "python";
  std::ofstream(path) << "#!/bin/sh\necho no licence >&2\nexit 4\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  PythonCallable c = callable("raw_rows.py", "right");
  c.interpreter = path;
  EXPECT_EQ(refusal_of_callable<InputError>(c),
            path + ": can not be used as a worker: exited with status 4: \"no licence\"");
}

TEST(PythonKernel, OneForAGpuIsNotRunWhereNoneIs) {
  ASSAY_NEEDS_PYTHON("ctypes");
  PythonCallable c = callable("device_rows.py", "right");
  const Variant v = load_python(c).at(0);
  EXPECT_TRUE(on_device(v));
  EXPECT_EQ(cannot_launch(v), unavailable_reason(Backend::cuda));
  EXPECT_NE(v.file.find("device memory"), std::string::npos) << v.file;
  c.host = true;
  EXPECT_FALSE(on_device(load_python(c).at(0)));
}

TEST(PythonKernel, NumpyTakesAndReturnsArrays) {
  ASSAY_NEEDS_PYTHON("numpy");
  for (const char* function : {"right", "into"}) {
    const Variant v = load_python(callable("numpy_rows.py", function)).at(0);
    EXPECT_NE(v.file.find("numpy "), std::string::npos) << v.file;
    isolation::Trial t(3, 33);
    EXPECT_EQ(t.run(v).fault, "") << function;
    EXPECT_TRUE(t.right()) << function;
  }
  isolation::Trial t(3, 33);
  const LaunchOutcome o = t.run(load_python(callable("numpy_rows.py", "double")).at(0));
  EXPECT_EQ(o.fault, "returned float64 of shape [3, 33]: float32 of shape [3, 33] is the output");
}

TEST(PythonKernel, WhileLaunchesAreTimedNoResultIsCopied) {
  ASSAY_NEEDS_PYTHON("numpy");
  const std::string trial = isolation::fixture("assay_python_trial");
  if (!std::filesystem::exists(trial)) GTEST_SKIP() << "the fixtures are not on this machine";
  EXPECT_EQ(std::system((test_python() + " " + python_fixture("timed_calls.py") + " " + trial).c_str()), 0);
}

TEST(PythonKernel, TorchTakesAndReturnsTensors) {
  ASSAY_NEEDS_PYTHON("torch");
  for (const char* function : {"eager", "into", "layer"}) {
    PythonCallable c = callable("torch_rows.py", function);
    c.host = true;
    c.types = {{Dtype::f32, Dtype::f32}, {Dtype::bf16, Dtype::bf16}};
    const std::vector<Variant> all = load_python(c);
    ASSERT_EQ(all.size(), 2u);
    EXPECT_NE(all[0].file.find("torch "), std::string::npos) << all[0].file;
    EXPECT_EQ(all[1].key(), std::string(function) + "/bf16@plugin");
    isolation::Trial t(3, 33);
    EXPECT_EQ(t.run(all[0]).fault, "") << function;
    EXPECT_TRUE(t.right()) << function;
  }
}

}  // namespace

// --arg for a Python callable: which arguments are accepted, and the one line for all others.

namespace {

std::string refusal_of_arguments(const std::vector<std::string>& arguments) {
  try {
    check_python_arguments(arguments);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(PythonArguments, RolesAndValues) {
  for (const char* one :
       {"mask=mask_keep", "mask=mask_drop:u8", "mask=mask_keep:bool", "mask=bias:f32", "bias=bias_row:bf16",
        "seq_lens=lengths:i64", "s=scale", "t=temperatures", "n=rows", "n=V", "y=out", "x=in", "dim=-1",
        "eps=1e-5", "fill=-inf", "flag=True", "flag=False", "_Mask2=None"})
    EXPECT_EQ(refusal_of_arguments({one}), "") << one;
  EXPECT_EQ(refusal_of_arguments({"mask=mask_keep", "dim=-1"}), "");
}

TEST(PythonArguments, EverythingElseIsOneLine) {
  const std::string form = ": NAME=ROLE or NAME=VALUE is needed, as in --arg mask=mask_keep or --arg dim=-1";
  for (const std::string one : {"mask", "=mask_keep", "mask="})
    EXPECT_EQ(refusal_of_arguments({one}), "--arg '" + one + "'" + form);
  EXPECT_EQ(refusal_of_arguments({"2=mask_keep"}), "--arg '2=mask_keep': '2' is no name of a parameter");
  EXPECT_EQ(refusal_of_arguments({"a.b=1"}), "--arg 'a.b=1': 'a.b' is no name of a parameter");
  for (const char* one :
       {"mask=keep", "flag=true", "x=1+1", "x=0x10", "x= 1", "x=1_0", "mode='fast'", "m=None:u8"})
    EXPECT_EQ(refusal_of_arguments({one}),
              std::string("--arg '") + one +
                  "': neither a role (mask_keep, mask_drop, bias, bias_row, lengths, scale, temperature, "
                  "temperatures, in, out, indices, k, threshold, rows, V, stream) nor a value (a number, "
                  "None, True, False)")
        << one;
  EXPECT_EQ(refusal_of_arguments({"mask=mask_keep:f64"}),
            "--arg 'mask=mask_keep:f64': of mask_keep the types are bool, u8, i32, f16, bf16, f32");
  EXPECT_EQ(refusal_of_arguments({"b=bias:bool"}),
            "--arg 'b=bias:bool': of bias the types are f16, bf16, f32");
  EXPECT_EQ(refusal_of_arguments({"l=lengths:"}), "--arg 'l=lengths:': of lengths the types are i32, i64");
  EXPECT_EQ(refusal_of_arguments({"s=scale:f32"}), "--arg 's=scale:f32': scale has no types to choose from");
  EXPECT_EQ(refusal_of_arguments({"dim=-1", "dim=0"}), "--arg 'dim' is given twice");
}

}  // namespace
}  // namespace assay
