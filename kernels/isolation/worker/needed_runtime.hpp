// SPDX-License-Identifier: Apache-2.0
// A shared object that was linked with AddressSanitizer needs its runtime as the first library of the
// process.
#pragma once

#include <string>

namespace assay::isolation {

/// The file name of the runtime that the shared object names ("libasan.so.8"), if this process does not have
/// one. Else it is empty, also if the file is no shared object.
std::string missing_runtime(const std::string& path);

}  // namespace assay::isolation
