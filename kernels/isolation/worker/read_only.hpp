// SPDX-License-Identifier: Apache-2.0
// A read-only mount keeps nobody from writing into a named pipe that lies on it. Landlock does.
#pragma once

namespace assay::isolation {

/// True if this machine's Landlock can do what `keep_read_only` asks for (Linux 5.19 or later).
bool can_keep_read_only();

/// From now on this process, and all that it starts, opens nothing for writing that lies on a read-only
/// mount: no named pipe either. From Linux 6.12 on it also sends no signal to a process that was not started
/// after this. It does what the machine can do, and nothing where it can do nothing.
void keep_read_only();

}  // namespace assay::isolation
