// What a worker says while it dies: its signal and the address, sent out of the signal handler.
#pragma once

namespace assay::isolation {

/// Installs handlers for SIGSEGV, SIGBUS, SIGFPE and SIGILL that report to `socket` and then die of the
/// signal. Nothing under a sanitizer, which has handlers of its own.
void report_signals(int socket);

/// A signal stack for the calling thread, so that an overflow of its own stack can be reported.
void use_signal_stack();

}  // namespace assay::isolation
