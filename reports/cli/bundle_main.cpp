// SPDX-License-Identifier: Apache-2.0
// The only program of a bundle: `assay`, and under the name `assay_tests` its tests. It holds kernels, oracle
// and judge only once.
#include <gtest/gtest.h>

#include <string_view>

#include "kernels/isolation/worker/worker.hpp"
#include "reports/cli/commands.hpp"

int main(int argc, char** argv) {
  // This must come first: a worker runs kernels that are expected to crash.
  if (assay::is_worker_call(argc, argv)) return assay::run_worker(argc, argv);
  const std::string_view path = argc > 0 ? argv[0] : "";
  if (path.substr(path.rfind('/') + 1) != "assay_tests") return assay::run_assay(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
