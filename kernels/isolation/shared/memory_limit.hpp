// SPDX-License-Identifier: Apache-2.0
// How much memory the processes of a sandbox may use.
#pragma once

#include <cstdint>

namespace assay::isolation {

/// In MiB. `limit` and `used` are those of the control group; without a limit, `limit` is 0.
struct MachineMemory {
  std::int64_t all = 0, available = 0;
  std::int64_t limit = 0, used = 0;
};
/// What the operating system says now.
MachineMemory machine_memory();

/// MiB: nine tenths of what the machine, or the control group, has now. If that is very little, a kernel gets
/// a fixed amount all the same, and the operating system has to find it.
std::int64_t most_memory(const MachineMemory& m);
/// MiB: $ASSAY_WORKER_MEMORY, or most_memory(machine_memory()).
std::int64_t most_memory();

/// MiB that a process has for itself. Memory that it shares, such as the buffers of a launch, does not count.
std::int64_t own_memory(int pid);

}  // namespace assay::isolation
