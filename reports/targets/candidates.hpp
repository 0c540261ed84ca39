// SPDX-License-Identifier: Apache-2.0
// A source file as a candidate: compiled unchanged, loaded in a worker, and named by the words that repeat
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/python/python_kernel.hpp"
#include "kernels/registry.hpp"

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
  Variant variant;            // `file` says which compiler and flags made it, `origin` which words name it
  std::string plugin;         // PATH#NAME, with which load_plugin loads it again
  bool with_options = false;  // `origin` has more words than the file
};

/// Compiles the file, or reuses an earlier result, and loads its variants. Throws InputError.
std::vector<SourceCandidate> source_candidates(const std::string& word, const SourceOptions& options,
                                               const IsolationOptions& isolation = {});

/// Notes that the variant was compiled from this file, and what was made of it. source_candidates does it for
/// all of its own. `plugin`: as in SourceCandidate.
void remember_source(const Variant& variant, const OneFile& file, const CompiledFile& made = {},
                     const std::string& plugin = {});
/// The file from which a candidate of this process was compiled; empty for any other variant.
std::optional<OneFile> source_of(const Variant& variant);
/// What was made of that file; empty for any other variant.
std::optional<CompiledFile> compiled_of(const Variant& variant);
/// The words that name the variant, and more words behind them, with the shared object in the place of its
/// file. A program that is given these compiles nothing. The words as they are for any other variant.
std::string loaded_words(const Variant& variant, const std::string& words);

// A Python callable as a candidate: the command-line words that name it, and those that repeat it.

/// True for FILE.py:FUNCTION, FILE.py::FUNCTION and PACKAGE.MODULE:FUNCTION, and for FILE.py, where the
/// function is missing.
bool is_python_callable(const std::string& word);

/// The callable with the settings of --arg, --op, --types, --name, --host and --python. Throws InputError for
/// a wrong word, and for options that apply only to compiled source files.
PythonCallable python_callable(const std::string& word, const SourceOptions& options);

/// The words after a verb that name this callable again at one pair of types, quoted for a shell.
std::string python_words(const std::string& word, const SourceOptions& options, const Variant& variant);

}  // namespace assay
