// SPDX-License-Identifier: Apache-2.0
// `assay check my.cu`: turns a user's unedited file into a shared object that can be judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/entry/signature.hpp"

namespace assay {

struct OneFile {
  std::string source;              // the file
  std::string entry;               // a declaration; empty if the file has ASSAY_VARIANT lines
  std::vector<std::string> args;   // name=value, as given to --arg
  bool host = false;               // true: for the host executor; false: for a GPU
  std::string nvcc_flags;          // of these, the host compiler gets -D, -U, -I, -include and -std
  std::string build_dir;           // empty: $XDG_CACHE_HOME/assay, ~/.cache/assay or a folder below /tmp
  std::string declaration;         // what the author promises
  std::string name;                // name of the variant; empty: the name of the function
  std::optional<Op> op = {};       // needed if the signature leaves it open
  std::vector<Dtype> dtypes = {};  // what T stands for, one variant each
};

/// What was made, how, and of what: the compiler's own list of the files that it read. This goes into the
/// record and the certificate.
struct CompiledFile {
  std::string path, sha256;                    // the shared object, and the hash of its bytes
  std::string compiler;                        // the line with its version
  std::string compiler_path, compiler_sha256;  // and the hash of its programs (Compiler::sha256)
  std::string command;                         // the words of the command that compiled the file
  std::vector<std::string> environment;        // NAME=VALUE that changed what it did, such as CPATH
  std::vector<HashedFile> files;   // the author's: the file, and what it includes or is linked with
  std::vector<HashedFile> system;  // the machine's and the compiler's
  std::string way;                 // how the adapter reaches the file: "the file alone, called by its symbol"
  bool cached = false;             // nothing had to be compiled
};

/// The entries, one for each dtype. Empty if the file registers itself. Throws InputError.
std::vector<EntrySignature> entries_of(const OneFile& file);

/// Returns one unit for a project's own compiler: the adapter, the file, which it includes by its absolute
/// path, and the calls.
std::string adapter_of(const OneFile& file);

/// Compiles the file, or finds what an earlier call compiled from the same contents. Throws InputError with a
/// line that says what is wrong, then the compiler's first errors, then where the whole log is.
CompiledFile compile(const OneFile& file);

/// The contents of the file and of the author's files that it includes. Throws InputError.
std::vector<std::string> texts_of(const OneFile& file);

/// One sentence for each file, the source and what it includes with quotes, that has such branches: "my.cu:
/// lines 12-20 (__CUDACC__) are for nvcc, and were left out on the host". Empty for a file that is compiled
/// by nvcc.
std::vector<std::string> said_left_out(const OneFile& file);

/// compile(file).path
std::string compile_one_file(const OneFile& file);

/// Compiles the file for the host, watched: its shared object has a kernel more, "assay_branches", which says
/// what the file compares and which of its branches ran (kernels/adapter/branches.cpp). Throws InputError
/// like compile.
CompiledFile compile_watched(const OneFile& file);

/// Compiles the file with ThreadSanitizer as a program that runs a few shapes of every variant. The program
/// exits with 66 after a data race. Returns its path. Throws InputError like compile.
std::string build_race_checker(const OneFile& file);

/// Runs that program. Returns 0 for no race and 66 for a race; with any other value it did not finish.
/// `report` gets its output. If addresses are too random for ThreadSanitizer, it is started without that,
/// like `setarch -R`.
int run_race_checker(const std::string& program, std::string& report);

}  // namespace assay
