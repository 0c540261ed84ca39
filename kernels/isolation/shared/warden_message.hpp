// SPDX-License-Identifier: Apache-2.0
// What the warden of a sandbox tells the supervisor, over a SOCK_SEQPACKET pair of its own. The kernel's
// process has no descriptor of it.
#pragma once

#include <cstdint>

namespace assay::isolation {

/// The warden's end. If the supervisor closes the other one, the warden ends everything in the sandbox.
inline constexpr int kWarden = 5;
/// The program that is run as the warden. Inside the sandbox its path may be hidden.
inline constexpr int kWardenExecutable = 6;
/// A copy of the shared object that the worker loads, for bwrap, which closes it.
inline constexpr int kCopy = 7;

enum class WardenSays : std::int32_t {
  started,    // by the worker, before it runs anything: the operating system adds its process id
  ended,      // the worker has ended; `value` is as from waitpid
  processes,  // it ends the worker, because more than `value` processes ran
  memory,     // it ends the worker, because more than `value` MiB were in use
  shared,     // by the supervisor: the buffers of a launch may take `value` MiB
};

struct WardenMessage {
  WardenSays says = WardenSays::started;
  std::int32_t value = 0;
};

}  // namespace assay::isolation
