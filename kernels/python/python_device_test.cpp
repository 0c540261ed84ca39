// SPDX-License-Identifier: Apache-2.0
// Callables on device memory. Needs a GPU; without one every case is skipped.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/device.hpp"
#include "kernels/isolation/isolation_test.hpp"
#include "kernels/python/python_test.hpp"

namespace assay {
namespace {

class PythonDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
    ASSAY_NEEDS_PYTHON("ctypes");
    const std::string library = isolation::fixture("fixture_device");
    if (!std::filesystem::exists(library)) GTEST_SKIP() << "the fixtures are not on this machine";
    setenv("ASSAY_DEVICE_FIXTURE", library.c_str(), 1);
    setenv("ASSAY_KEEP_ENV", "ASSAY_DEVICE_FIXTURE", 1);
  }
  static Variant kernel(const std::string& function) {
    return load_python(callable("device_rows.py", function)).at(0);
  }
};

TEST_F(PythonDevice, ARightKernelIsRightInEveryWay) {
  const Variant v = kernel("right");
  ASSERT_TRUE(on_device(v));
  for (const LaunchOptions& options :
       {LaunchOptions{}, LaunchOptions{.page_end = true}, LaunchOptions{.delayed_producer = true}})
    for (const std::int64_t V : {1, 33, 4096, 300000}) {
      isolation::Trial t(3, V);
      const LaunchOutcome o = t.run(v, options);
      EXPECT_EQ(o.fault + o.late_write, "") << V;
      EXPECT_TRUE(t.right()) << V;
    }
  isolation::Trial a(2, 33), b(2, 33);
  for (const LaunchOutcome& o : v.launcher->launch_both(v, a.problem, {&a.images, &b.images}, {}))
    EXPECT_EQ(o.fault, "");
  EXPECT_TRUE(a.right());
  EXPECT_TRUE(b.right());
}

TEST_F(PythonDevice, WhatItReturnsIsCopiedOnItsStream) {
  const Variant v = kernel("same");
  for (const bool late : {false, true}) {
    isolation::Trial t(3, 33);
    ASSERT_EQ(t.run(v, {.delayed_producer = late}).fault, "");
    for (int i = 0; i < 99; ++i) EXPECT_EQ(t.values()[i], t.logits()[i]) << i;
  }
}

TEST_F(PythonDevice, WorkOnAnotherStreamAndATrapAreNoticed) {
  const Variant other = kernel("other_stream"), right = kernel("right");
  isolation::Trial t(2, 33), u(2, 33), bad(2, 33), good(2, 33);
  EXPECT_EQ(t.run(other).fault, "");
  EXPECT_EQ(u.run(other, {.delayed_producer = true}).fault, "");
  EXPECT_FALSE(u.right());
  const LaunchOutcome o = bad.run(kernel("trap"));
  EXPECT_EQ(o.ended, Ended::crashed);
  EXPECT_NE(o.fault.find("CUDA: kernel: "), std::string::npos) << o.fault;
  EXPECT_EQ(good.run(right).fault, "");
  EXPECT_TRUE(good.right());
}

TEST_F(PythonDevice, TorchWorksOnTheStreamOfTheCall) {
  ASSAY_NEEDS_PYTHON("torch");
  for (const char* function : {"eager", "into", "layer", "compiled"}) {
    const Variant v = load_python(callable("torch_rows.py", function)).at(0);
    if (!on_device(v)) GTEST_SKIP() << v.file << ": this torch has no CUDA";
    for (const bool late : {false, true}) {
      isolation::Trial t(3, 33);
      const LaunchOutcome o = t.run(v, {.delayed_producer = late});
      EXPECT_EQ(o.fault + o.late_write, "") << function;
      EXPECT_TRUE(t.right()) << function << (late ? " late" : "");
    }
  }
}

}  // namespace
}  // namespace assay
