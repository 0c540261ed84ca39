// SPDX-License-Identifier: Apache-2.0
// Which files the interpreter has opened to read. Python can not remove or see what writes this down.
#pragma once

#include <string>
#include <vector>

namespace assay::python {

/// Begins to write them down. Once for a process and its forks.
void watch_opened();
/// Absolute paths, in the order of their first use.
std::vector<std::string> opened_files();

}  // namespace assay::python
