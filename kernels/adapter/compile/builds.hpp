// SPDX-License-Identifier: Apache-2.0
// The parts of a compilation: for a device, for the host executor, and what both end with.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/adapter/entry/adapter_source.hpp"

namespace assay {

/// What the host compiler watches beside alignment: nothing, or the threads (for races).
enum class Sanitize { none, threads };

CompiledFile compile_for_device(const OneFile& file);
CompiledFile compile_for_host(const OneFile& file, Sanitize sanitize);

/// What the adapter is written from. `included`: the name by which it includes the file.
AdapterFile adapter_file(const OneFile& file, const std::vector<EntrySignature>& entries,
                         const std::filesystem::path& included);

/// Runs a compiler. Throws InputError with its first errors, or with the one word that the executor does not
/// support. `source`: the name of what is compiled, in messages.
void compile_step(const std::string& source, const std::vector<std::string>& words,
                  const std::filesystem::path& log);

/// Runs the command that makes `target`, unless it is there. `texts`: the file and the files that it includes
/// with quotes. Throws InputError that says what the author can change.
CompiledFile finish_build(const OneFile& file, const std::set<std::filesystem::path>& texts,
                          const std::filesystem::path& target, std::vector<std::string> words,
                          const std::string& version);

/// The words as a shell takes them.
std::string command_text(const std::vector<std::string>& words);

}  // namespace assay
