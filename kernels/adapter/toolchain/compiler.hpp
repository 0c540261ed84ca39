// SPDX-License-Identifier: Apache-2.0
// A compiler, and which one it is: a new release of it makes another binary.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "kernels/adapter/cache/hashed_file.hpp"

namespace assay {

struct Compiler {
  std::vector<std::string> words;  // of its command
  std::string version;             // the line with its version; empty if it does not say one
  /// SHA-256 of the bytes of all its programs: the driver, what it starts for C++, the assembler, the linker;
  /// for nvcc also those of CUDA and libdevice. A version line says less: a rebuilt or patched compiler may
  /// keep it.
  std::string sha256;
  bool lists_linked = false;                 // its linker writes a list of what it reads
  std::vector<std::filesystem::path> roots;  // where its own headers and libraries lie
};

/// What is known of a compiler. Its programs are asked only if they changed since the last time. `build`:
/// where that is remembered. Throws InputError.
Compiler known_host_compiler(std::vector<std::string> words, const std::filesystem::path& build,
                             SystemHashes& hashes);
/// `flags`: of nvcc, which may name another host compiler (-ccbin).
Compiler known_nvcc(const std::string& nvcc, const std::vector<std::string>& flags,
                    const std::filesystem::path& build, SystemHashes& hashes);

/// True if the file belongs to the machine or to the compiler, and is no part of the author's project.
bool is_system_file(const std::filesystem::path& file, const Compiler& compiler);

}  // namespace assay
