// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/worker/worker.hpp"
#include "reports/cli/commands.hpp"

int main(int argc, char** argv) {
  // This must come first: a worker runs kernels that are expected to crash.
  if (assay::is_worker_call(argc, argv)) return assay::run_worker(argc, argv);
  return assay::run_assay(argc, argv);
}
