// SPDX-License-Identifier: Apache-2.0
// What a worker reports when it dies: its signal handler sends the signal and the address.
#pragma once

namespace assay::isolation {

/// Installs handlers for SIGSEGV, SIGBUS, SIGFPE and SIGILL. They report to `socket`, and then the process
/// dies of the signal. Does nothing under a sanitizer, which has handlers of its own.
void report_signals(int socket);

/// Gives the calling thread a signal stack, so that an overflow of its own stack can be reported.
void use_signal_stack();

}  // namespace assay::isolation
