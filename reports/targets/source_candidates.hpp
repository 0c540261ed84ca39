// A source file as a candidate: compiled as it is, loaded in a worker, and named by the words that repeat it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/registry.hpp"

namespace CLI {
class App;
}

namespace assay {

/// Options that say how a source file is to be called and compiled. Words are checked when it is compiled.
/// Some are a Python callable's as well.
struct SourceOptions {
  std::string entry;
  std::vector<std::string> args;
  bool host = false;
  std::string nvcc_flags;
  std::string build_dir;
  std::string declare;
  std::string name;
  std::string op;
  std::vector<std::string> dtypes;  // what T stands for
  std::string python;               // the interpreter of a Python callable
};

/// --entry --arg --host --nvcc-flags --build-dir --name --types --python; --declare and --op belong to the
/// verb.
void add_source_options(CLI::App& command, SourceOptions& options);

/// True for FILE.cu, .cuh, .cpp, .cc, .cxx and .c, and for FILE.cu#name: one of the variants in it.
bool is_source_file(const std::string& word);

/// Throws InputError for a word that is wrong.
OneFile one_file(const std::string& word, const SourceOptions& options);

/// The options that say the same again, word by word.
std::vector<std::string> source_arguments(const SourceOptions& options);
/// The words after a verb that name this file again, as a shell takes them: "my.cu --entry '...' --host".
std::string source_words(const std::string& word, const SourceOptions& options);

struct SourceCandidate {
  Variant variant;     // its `file` says which compiler and flags made it, its `origin` which words name it
  std::string plugin;  // what load_plugin takes to load it again: PATH#NAME
};

/// Compiles the file, or finds what was compiled of it before, and loads its variants. Throws InputError.
std::vector<SourceCandidate> source_candidates(const std::string& word, const SourceOptions& options,
                                               const IsolationOptions& isolation = {});

/// The file that a candidate of this process was compiled from; empty for any other variant.
std::optional<OneFile> source_of(const Variant& variant);

}  // namespace assay
