// SPDX-License-Identifier: Apache-2.0
// A source file as a candidate: compiled unchanged, loaded in a worker, and named by the words that repeat
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/registry.hpp"
#include "reports/targets/check_targets.hpp"

namespace CLI {
class App;
}

namespace assay {

/// Options on how to call and compile a source file. They are checked when it is compiled. Some also apply to
/// a Python callable.
struct SourceOptions {
  std::string entry;
  std::vector<std::string> args;
  bool host = false;
  std::string nvcc_flags;
  std::string build_dir;
  std::string declare;
  std::string name;
  std::string op;
  std::vector<std::string> dtypes;  // the types that T stands for
  std::string python;               // interpreter for a Python callable
};

/// --entry --arg --host --nvcc-flags --build-dir --name --types --python. (--declare and --op belong to the
/// verb.)
void add_source_options(CLI::App& command, SourceOptions& options);

/// True for what --name may be: letters, digits, _ and -.
bool is_kernel_name(const std::string& word);

/// True for FILE.cu, .cuh, .cpp, .cc, .cxx and .c, and for FILE.cu#name, one variant in the file.
bool is_source_file(const std::string& word);

/// Throws InputError for a wrong word.
OneFile one_file(const std::string& word, const SourceOptions& options);

/// The same options as command-line words.
std::vector<std::string> source_arguments(const SourceOptions& options);
/// The words after a verb that name this file again, quoted for a shell: "my.cu --entry '...' --host".
std::string source_words(const std::string& word, const SourceOptions& options);

struct SourceCandidate {
  Variant variant;     // `file` says which compiler and flags made it, `origin` which words name it
  std::string plugin;  // PATH#NAME, with which load_plugin loads it again
};

/// Compiles the file, or reuses an earlier result, and loads its variants. Throws InputError.
std::vector<SourceCandidate> source_candidates(const std::string& word, const SourceOptions& options,
                                               const IsolationOptions& isolation = {});

/// Notes that the variant was compiled from this file, and what was made of it. source_candidates does it for
/// all of its own.
void remember_source(const Variant& variant, const OneFile& file, const CompiledFile& made = {});
/// The file from which a candidate of this process was compiled; empty for any other variant.
std::optional<OneFile> source_of(const Variant& variant);
/// What was made of that file; empty for any other variant.
std::optional<CompiledFile> compiled_of(const Variant& variant);

}  // namespace assay

namespace assay {

/// What a word on the command line of assay fuzz and assay replay names: all that assay check takes, and
/// patterns over the registered keys.
struct CandidateOptions {
  SourceOptions source;         // --entry and related options; --declare for all of them
  double timeout_seconds = 20;  // limit of one launch
  bool in_process = false;      // registered keys run without a worker
};

/// Throws InputError if the word names nothing, or its kernel cannot be loaded or compiled.
std::vector<Target> candidates_named(const std::string& word, const CandidateOptions& options = {},
                                     bool dead = false);

/// The candidate of a case file: the one of `word` with this key (empty: any) that does `op` on `dtype`.
/// Throws InputError.
Target candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype,
                     const CandidateOptions& options = {});

}  // namespace assay
