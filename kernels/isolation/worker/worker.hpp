// The worker: a process that runs kernels for a supervisor, and is expected to die of them. It is this same
// executable, started with a hidden verb; it knows buffers and problems, and no expected result.
#pragma once

namespace assay {

/// Whether the command line is a worker's. Whoever asks has the verb: this executable can be its own worker.
bool is_worker_call(int argc, const char* const* argv);

/// `assay worker FD`: serves the supervisor at the other end of FD until it is gone. The exit status.
int run_worker(int argc, const char* const* argv);

}  // namespace assay
