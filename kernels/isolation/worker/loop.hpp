// SPDX-License-Identifier: Apache-2.0
// What every kind of worker does: it serves the supervisor at the other end of its socket.
#pragma once

#include <functional>
#include <memory>

#include "kernels/isolation/worker/kernels.hpp"

namespace assay::isolation {

/// Opens what a request names. On failure it returns null, and the answer says what is wrong.
using OpenKernels = std::function<std::unique_ptr<WorkerKernels>(const Load&, Loaded&)>;

/// Ends this process together with its parent, closes descriptors that it was not given, and makes the OOM
/// killer choose it first.
void confine();

/// Makes this process a worker and serves until the supervisor is gone. Returns the exit status. `forked`:
/// the process is a fork of a confined one, and keeps open what that one had opened.
int serve(const OpenKernels& open, bool forked = false);

}  // namespace assay::isolation
