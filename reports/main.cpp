#include <cstring>

#include "kernels/isolation/worker.hpp"
#include "reports/commands.hpp"

int main(int argc, char** argv) {
  // Before anything else: a worker runs kernels that are expected to crash.
  if (argc > 1 && std::strcmp(argv[1], "worker") == 0) return assay::run_worker(argc, argv);
  return assay::run_assay(argc, argv);
}
