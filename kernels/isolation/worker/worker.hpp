// SPDX-License-Identifier: Apache-2.0
// The worker: a process that runs kernels for a supervisor and is expected to die of them. It is this same
// executable, started with a hidden verb. It knows buffers and problems, but no expected result.
#pragma once

namespace assay {

/// True if the command line is a worker's. Calling this marks the executable as one that has the worker verb.
bool is_worker_call(int argc, const char* const* argv);

/// `assay worker FD`: serves the supervisor at the other end of FD until it is gone. Returns the exit status.
int run_worker(int argc, const char* const* argv);

}  // namespace assay
