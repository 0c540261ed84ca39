// SPDX-License-Identifier: Apache-2.0
// What everything that writes files needs: a name for the file while it is being written, and the error if it
// cannot be.
#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// A name beside `file` that no other process has: "x.jsonl.4f1a90c2b7d35e68.part". Process numbers would not
/// do: two containers that share a folder have equal ones.
std::filesystem::path unique_part(const std::filesystem::path& file);

/// Throws the error of a write that failed with this errno: EnvironmentError (exit status 3) where the
/// machine has no more room, InputError otherwise.
[[noreturn]] void throw_unwritten(const std::filesystem::path& file, int why);

}  // namespace assay
