// SPDX-License-Identifier: Apache-2.0
// How much memory the processes of a sandbox may use.
#pragma once

#include <cstdint>
#include <optional>

namespace assay::isolation {

/// In MiB. `limit` is that of the control group; without one it is 0.
struct MachineMemory {
  std::int64_t all = 0, limit = 0;
};
/// What the operating system says.
MachineMemory machine_memory();

/// MiB: nine tenths of what the machine, or the control group, has. What others use of it now does not count:
/// a kernel must not fail because a machine is busy.
std::int64_t most_memory(const MachineMemory& m);
/// MiB: $ASSAY_WORKER_MEMORY, or most_memory(machine_memory()).
std::int64_t most_memory();

/// How many processes the operating system has killed for want of memory: of this control group, or where
/// that does not say, of the machine. Empty if neither says.
std::optional<std::int64_t> memory_kills();

/// MiB that a process has for itself. Memory that it shares, such as the buffers of a launch, does not count.
std::int64_t own_memory(int pid);
/// MiB of memory that a process shares with others, or could, and that is no file's on a disk.
std::int64_t shared_memory(int pid);

}  // namespace assay::isolation
