// SPDX-License-Identifier: Apache-2.0
// Files that the interpreter opens to read: modules, data. Each is mapped as well, so that the supervisor
// sees it in /proc/PID/maps (kernels/isolation/loaded/): it asks the operating system, not the worker. Python
// code can not end this.
#pragma once

namespace assay::python {

/// Begins with it. Once for a process and its forks.
void watch_opened();

}  // namespace assay::python
