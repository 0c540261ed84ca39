// `assay check my.cu`: from somebody's file, unedited, to a shared object that can be judged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

struct OneFile {
  std::string source;              // the file
  std::string entry;               // a declaration; empty: the file has ASSAY_VARIANT lines
  std::vector<std::string> args;   // name=value, as after --arg
  bool host = false;               // for the host executor instead of a GPU
  std::string nvcc_flags;          // of these, -D, -U, -I, -include and -std reach the host compiler
  std::string build_dir;           // empty: $XDG_CACHE_HOME/assay, ~/.cache/assay or a folder below /tmp
  std::string declaration;         // what the author promises
  std::string name;                // of the variant; empty: that of the function
  std::optional<Op> op = {};       // where the signature leaves it open
  std::vector<Dtype> dtypes = {};  // what T stands for, one variant each
};

/// What was made, and how: for the record.
struct CompiledFile {
  std::string path;      // the shared object
  std::string compiler;  // its version line
  std::string command;   // the words that compiled it
  bool cached = false;   // nothing had to be compiled
};

/// The entries of the call, one for each dtype; empty where the file registers itself. Throws InputError.
std::vector<EntrySignature> entries_of(const OneFile& file);

/// The adapter's text alone; it includes <assay/adapter.h> or <assay/variant.h> and the source by absolute
/// path.
std::string adapter_of(const OneFile& file);

/// Compiles, or finds what an earlier call compiled of the same contents. Throws InputError: a line that says
/// what is wrong, the compiler's first errors below it, and where the whole log is.
CompiledFile compile(const OneFile& file);

/// compile(file).path
std::string compile_one_file(const OneFile& file);

/// The file compiled with ThreadSanitizer, as a program that runs a few shapes of every variant and ends with
/// 66 after a data race. Its path; throws InputError as compile does.
std::string build_race_checker(const OneFile& file);

/// Runs it: 0 no race, 66 a race, anything else: it did not get that far. `report` gets what it wrote. Where
/// memory addresses are too random for ThreadSanitizer it is started without that, as `setarch -R` does.
int run_race_checker(const std::string& program, std::string& report);

}  // namespace assay
