// SPDX-License-Identifier: Apache-2.0
// What `assay check` can judge: a registered key, a plugin, source files that become a plugin, or a Python
// callable.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/isolation/isolated.hpp"
#include "kernels/registry.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {

struct TargetOptions {
  std::vector<std::string> words;  // KEY, PLUGIN.so[#name], FILE.cu, FILE.py:FUNCTION ...
  SourceOptions source;            // --entry and related options; --declare for all of them
  double timeout_seconds = 20;
  /// All words of the run if `words` are those of one part of it (--shard).
  std::vector<std::string> whole = {};
};

struct Target {
  Variant variant;
  std::string words;              // as written in a reproduce line
  std::function<Variant()> make;  // makes the variant, with a worker of its own
  /// How its shared object died when it was loaded. `variant` then has only a name.
  std::optional<DiedAtLoad> died = {};
  std::string file = {};  // the word of the command line; empty for a registered key
  bool options = false;  // the variant's origin is a file with the options that it is compiled or called with
  std::string binary = {};  // the shared object; empty for a registered key and a Python callable
  /// A name that no kernel of another file has, for files that outlive the run: the key of a registered
  /// kernel, "softmax/f32@plugin+my.1a2b3c4d" of one in my.cu.
  std::string unique_name() const;
};

/// Throws InputError for a word that is no key, and for what cannot be loaded or compiled.
/// Kernels of one key that are in different files get names that tell them apart, such as "my.softmax". In
/// one part of a run, which does not see the other files, every kernel of a file gets such a name. `dead`:
/// what dies while it is loaded is a target too, so that the others can be judged; else that throws.
std::vector<Target> resolve_targets(const TargetOptions& options, bool dead = false);

/// Throws InputError for options that say how a file is called and compiled, if no word names a file.
void refuse_idle_options(const std::vector<std::string>& words, const SourceOptions& options);

/// For kernels of source files that did not run because there is no GPU: what to add to the command. Else
/// empty.
std::string without_gpu_words(const std::vector<Target>& targets);

/// Throws InputError for a word that is no key, a file that is not there, and a kernel that is named twice.
/// Loads and compiles nothing.
void require_targets(const std::vector<std::string>& words);

/// The file that a word of the command line names: before "#name" or ":function".
std::filesystem::path path_in(const std::string& word);

/// The target with more declared, as a contract's limits that were found.
Target with_declared(Target target, const std::string& words);

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
