// SPDX-License-Identifier: Apache-2.0
// The worker's side of launches that are timed, where no memory was lent. The times need a GPU
// (../device_test.cpp).
#include <gtest/gtest.h>

#include "kernels/isolation/worker/device.hpp"
#include "kernels/isolation/worker/plugin_library.hpp"

namespace assay {
namespace {

TEST(WorkerLaunches, AWorkerMakesNoLaunchWithoutMemory) {
  using namespace isolation;
  WorkerDevice device;
  Time request;
  request.launches = request.sets = 1;
  Timed timed;
  int calls = 0;
  device.time(request, 0, timed, PluginLibrary(), [&](const std::array<void*, kBuffers>&, void*) {
    ++calls;
    return Said();
  });
  EXPECT_EQ(calls, 0);
  EXPECT_NE(timed.fault.get(), "");
  EXPECT_EQ(timed.us, 0);
  request.launches = 0;
  Timed closed;
  device.time(request, 0, closed, PluginLibrary(), {});
  EXPECT_EQ(closed.fault.get(), "");
}

}  // namespace
}  // namespace assay
