// SPDX-License-Identifier: Apache-2.0
// A compiler, and which one it is: a new release of it makes another binary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kernels/adapter/cache/build_folder.hpp"

namespace assay {

/// Runs a compiler on a file that somebody else wrote. A source can name /dev/zero or a named pipe in an
/// #include, and can make a compiler compute for ever or write without end. So a compiler has limits, an
/// environment of its own, and the sandbox where that works.
struct CompilerRun {
  std::vector<std::string> words;
  std::filesystem::path writable;  // the only folder that it writes; its temporary files lie there, too
  std::filesystem::path log;       // gets its output and its errors; in `writable`
  std::filesystem::path out = {};  // gets its output, if it is not to be in the log
  std::vector<std::filesystem::path> read = {};  // folders that it must see, even in /run or /dev/shm
  bool only_preprocesses = false;                // then it gets a minute at most
  std::int64_t moment = 0;                       // what __DATE__ and __TIME__ say: seconds since 1970
};

/// Returns its exit status, or 128 + the signal that ended it. Everything that it has started has ended then.
/// Throws InputError if it cannot be started, or if it had to be ended: "the compiler was ended after 600 s
/// (ASSAY_COMPILER_TIMEOUT)".
///
/// It may use this many seconds ($ASSAY_COMPILER_TIMEOUT, or 600), the memory that a worker may use
/// ($ASSAY_WORKER_MEMORY), and write files of 1 GiB.
int run_compiler(const CompilerRun& run);

/// The beginning of a log. A compiler may write as much as a file may hold.
std::string start_of_log(const std::filesystem::path& log);

/// Why a compiler with this log was ended by a limit of memory or of a file's size; empty if it was not.
std::string over_a_limit(const std::string& log, int status);

/// NAME=VALUE of all that a compiler knows. Some change what it makes, such as CPATH and NVCC_APPEND_FLAGS:
/// they are what the user wants of every compilation, and belong to the identity of what is built.
std::vector<std::string> compiler_environment();

/// Of these, what changes what is made and is set: for the identity of a build, and for the certificate.
std::vector<std::string> compiler_inputs();

/// A folder that nobody else uses. It is removed with all that it contains.
class Scratch {
 public:
  /// Makes it below this folder. Throws InputError or EnvironmentError.
  explicit Scratch(const std::filesystem::path& below);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

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
