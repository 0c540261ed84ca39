// What every worker does, whatever process it is: it serves the supervisor at the other end of its socket.
#pragma once

#include <functional>
#include <memory>

#include "kernels/isolation/worker/kernels.hpp"

namespace assay::isolation {

/// Opens what a request names, and says in the answer what is wrong with it; null then.
using OpenKernels = std::function<std::unique_ptr<WorkerKernels>(const Load&, Loaded&)>;

/// Ties this process to its parent, closes what it was not given, and gives it up first where memory runs
/// out.
void confine();

/// Makes this process a worker and serves until the supervisor is gone. The exit status. `forked`: of a
/// confined process, and what that one has opened stays open.
int serve(const OpenKernels& open, bool forked = false);

}  // namespace assay::isolation
