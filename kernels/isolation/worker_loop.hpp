// What every worker does, whatever process it is: it serves the supervisor at the other end of its socket.
#pragma once

#include <functional>
#include <memory>

#include "kernels/isolation/worker_kernels.hpp"

namespace assay::isolation {

/// Opens what a request names, and says in the answer what is wrong with it; null then.
using OpenKernels = std::function<std::unique_ptr<WorkerKernels>(const Load&, Loaded&)>;

/// Makes this process a worker and serves until the supervisor is gone. The exit status.
int serve(const OpenKernels& open);

}  // namespace assay::isolation
