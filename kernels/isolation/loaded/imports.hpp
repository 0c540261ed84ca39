// SPDX-License-Identifier: Apache-2.0
// Which functions of the system a shared object imports that a launcher of a softmax has no need of.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::isolation {

/// In alphabetical order: functions that tell the time, the environment, the process or chance, that open
/// files, libraries or connections, that start processes or send signals. By the dynamic symbols of an ELF
/// file of 64 bits; empty for any other file. What a file finds by dlsym, and instructions such as syscall
/// and rdtsc, are not seen.
std::vector<std::string> unusual_imports(const std::filesystem::path& file);

}  // namespace assay::isolation
