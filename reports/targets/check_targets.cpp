// SPDX-License-Identifier: Apache-2.0
#include "reports/targets/check_targets.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "accuracy/probes/probes.hpp"
#include "kernels/candidate.hpp"
#include "kernels/declaration.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/key_hint.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/text.hpp"
#include "reports/out/command_line.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {

std::filesystem::path path_in(const std::string& word) {
  if (std::filesystem::exists(word)) return word;
  return word.substr(0, word.find_last_of("#:"));
}

namespace {

bool is_library(const std::string& word) {
  const std::string path = word.substr(0, word.find('#'));
  return path.ends_with(".so") || path.find(".so.") != std::string::npos;
}

bool holds_tensors(const std::string& word) {
  return word.ends_with(".npy") || word.ends_with(".npz") || word.ends_with(".safetensors");
}

IsolationOptions isolation_of(const TargetOptions& options) {
  return {.timeout_seconds = options.timeout_seconds};
}

/// Of a file that was compiled here. Flags may name another architecture.
IsolationOptions isolation_of_file(const TargetOptions& options) {
  IsolationOptions o = isolation_of(options);
  o.made_for_gpu = options.source.nvcc_flags.empty() && !std::getenv("NVCC_APPEND_FLAGS") &&
                   !std::getenv("NVCC_PREPEND_FLAGS");
  return o;
}

/// Adds the words of --declare to what the kernel itself declares.
Variant declared(Variant v, const std::string& text) {
  if (text.empty()) return v;
  const auto declare = [text](Variant& one) {
    apply_declaration(text, one);
    one.declared = true;
  };
  declare(v);
  refuse_idle_words(v);
  if (v.launcher) v.launcher->declare_siblings(declare);
  return v;
}

/// A hang depends on the timeout, so the reproduce line contains it.
std::string with_timeout(std::string words, const TargetOptions& options) {
  if (options.timeout_seconds != TargetOptions().timeout_seconds)
    words += fmt::format(" --timeout {}", options.timeout_seconds);
  return words;
}

std::string with_options(std::string words, const TargetOptions& options) {
  if (!options.source.declare.empty()) words += " --declare " + shell_quoted(options.source.declare);
  return with_timeout(std::move(words), options);
}

const Variant& registered(const std::string& word) {
  const Variant* v = find_candidate(word);
  if (!v && holds_tensors(word))
    throw InputError(
        word + ": holds tensors and no kernel: assay grade --logits x.npy --probs y.npy judges outputs");
  if (std::error_code ignored; !v && std::filesystem::is_directory(word, ignored))
    throw InputError(word + ": is a folder: name the file in it that holds the kernel");
  if (!v)
    throw InputError(word + ": no such key (assay list names them all), no .so and no source file" +
                     did_you_mean_key(word));
  return *v;
}

Target key_target(const std::string& word, const TargetOptions& options) {
  const Variant* const v = &registered(word);
  const auto make = [v, options] {
    return declared(isolated(*v, isolation_of(options)), options.source.declare);
  };
  return {declared(*v, options.source.declare), with_options(shell_quoted(word), options), make};
}

std::vector<Target> plugin_targets(const std::string& word, const TargetOptions& options) {
  std::vector<Target> targets;
  for (const Variant& v : load_plugin(word, isolation_of(options))) {
    const auto make = [origin = v.origin, options] {
      return declared(load_plugin(origin, isolation_of(options)).at(0), options.source.declare);
    };
    targets.push_back(
        {declared(v, options.source.declare), with_options(shell_quoted(v.origin), options), make});
    targets.back().binary = path_in(word).string();
  }
  return targets;
}

std::vector<Target> source_targets(const std::string& word, const TargetOptions& options) {
  std::vector<Target> targets;
  // With an entry, the adapter carries the declaration. A file that registers itself has its own.
  const std::string more = options.source.entry.empty() ? options.source.declare : "";
  const std::vector<SourceCandidate> all =
      source_candidates(word, options.source, isolation_of_file(options));
  // With several types, a word may have a meaning for only one of them.
  if (all.size() == 1) refuse_idle_words(all[0].variant);
  for (const SourceCandidate& c : all) {
    const auto make = [c, options, more] {
      Variant v = declared(load_plugin(c.plugin, isolation_of_file(options)).at(0), more);
      v.file = c.variant.file;
      v.origin = c.variant.origin;
      return v;
    };
    targets.push_back({declared(c.variant, more), with_timeout(c.variant.origin, options), make});
    targets.back().binary = path_in(c.plugin).string();
    targets.back().options = c.with_options;
  }
  return targets;
}

/// Whether a first launch of the callable comes back. Squares, because it may be causal; other lengths,
/// because it may refuse some.
enum class First { comes_back, fails, ends };
First first_launch(const Variant& v) {
  if (!cannot_launch(v).empty()) return First::ends;
  for (const std::int64_t V : {128, 1024, 33, 1}) {
    const probe::Output o = probe::launch_on(v, Tensor(v.dtype, V, V), 5);
    if (!o.skipped.empty()) continue;
    if (o.fault.empty()) return First::comes_back;
    if (o.ended != Ended::fault) return First::ends;
  }
  return First::fails;
}

/// Of 16-bit logits a callable may return f32. That is the type of its outputs if its first launch comes back
/// with no other. `types`: as the user wrote them; those of "f16:f16" are not asked about.
void find_outputs(const PythonCallable& callable, const TargetOptions& options, Variant& v) {
  if (v.out() != v.dtype || (v.dtype != Dtype::f16 && v.dtype != Dtype::bf16)) return;
  for (const std::string& types : options.source.dtypes)
    if (types == fmt::format("{0}:{0}", name(v.dtype))) return;
  if (first_launch(declared(v, options.source.declare)) != First::fails) return;
  PythonCallable wide = callable;
  wide.types = {{v.dtype, Dtype::f32}};
  Variant other = load_python(wide, isolation_of(options)).at(0);
  if (first_launch(declared(other, options.source.declare)) != First::comes_back) return;
  v = std::move(other);
  v.file += "; its first call returned f32";
}

std::vector<Target> python_targets(const std::string& word, const TargetOptions& options) {
  std::vector<Target> targets;
  const PythonCallable callable = python_callable(word, options.source);
  for (Variant& v : load_python(callable, isolation_of(options))) {
    find_outputs(callable, options, v);
    v.origin = python_words(word, options.source, v);
    PythonCallable one = callable;
    one.types = {{v.dtype, v.out()}};
    const auto make = [one, origin = v.origin, file = v.file, options] {
      Variant made = declared(load_python(one, isolation_of(options)).at(0), options.source.declare);
      made.origin = origin;
      made.file = file;
      return made;
    };
    targets.push_back({declared(v, options.source.declare), with_options(v.origin, options), make});
    targets.back().options = v.origin != shell_quoted(word);
  }
  return targets;
}

bool names_a_file(const std::string& word) {
  return is_source_file(word) || is_library(word) || is_python_callable(word);
}

std::string fit_for_a_name(std::string text) {
  for (char& c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-') c = '_';
  return text;
}

void rename(Target& t, const std::string& name) {
  t.variant.variant = name;
  t.make = [make = std::move(t.make), name] {
    Variant v = make();
    v.variant = name;
    return v;
  };
}

/// The same words twice are the same kernel, and keep one key.
void tell_apart(std::vector<Target>& targets) {
  std::map<std::string, std::vector<Target*>> by_key;
  for (Target& t : targets)
    if (!t.file.empty()) by_key[t.variant.key()].push_back(&t);
  for (const auto& [key, same] : by_key) {
    std::set<std::string> files, names;
    for (const Target* t : same) files.insert(t->file);
    if (files.size() == 1 || files.size() < same.size()) continue;
    for (Target* t : same) {
      const std::string name = fit_for_a_name(path_in(t->file).stem().string()) + "." + t->variant.variant;
      std::string own = name;
      for (int n = 2; !names.insert(own).second; ++n) own = fmt::format("{}-{}", name, n);
      rename(*t, own);
    }
  }
}

/// The path without what may differ between two spellings of one.
std::string plain_path(const std::filesystem::path& path) {
  return std::filesystem::absolute(path).lexically_normal().string();
}

/// A name for each file among the words of a run, by its plain path. It depends on nothing but the words.
std::map<std::string, std::string> names_of_parts(const std::vector<std::string>& words) {
  std::map<std::string, std::string> names;
  std::set<std::string> used;
  for (const std::string& word : words) {
    const std::filesystem::path path = path_in(word);
    if (!names_a_file(word) || names.contains(plain_path(path))) continue;
    const std::string name = fit_for_a_name(path.stem().string());
    std::string own = name;
    for (int n = 2; !used.insert(own).second; ++n) own = fmt::format("{}-{}", name, n);
    names[plain_path(path)] = own;
  }
  return names;
}

/// The kernel's name is that of its file, because it did not live to say its own.
Target dead_target(const std::string& word, const TargetOptions& options, const DiedAtLoad& died) {
  Target t;
  t.variant.variant = fit_for_a_name(path_in(word).stem().string());
  t.variant.backend = Backend::plugin;
  t.variant.claim = undeclared_claim(t.variant.op);
  t.words = with_options(shell_quoted(word), options);
  t.variant.origin = word;
  t.died = died;
  return t;
}

}  // namespace

void refuse_idle_options(const std::vector<std::string>& words, const SourceOptions& s) {
  if (words.empty() || std::ranges::any_of(words, names_a_file)) return;
  const char* const idle = !s.entry.empty()        ? "--entry"
                           : !s.args.empty()       ? "--arg"
                           : !s.dtypes.empty()     ? "--types"
                           : !s.nvcc_flags.empty() ? "--nvcc-flags"
                           : !s.python.empty()     ? "--python"
                                                   : nullptr;
  if (idle) throw InputError(fmt::format("{}: is for a file, and {} is a key", idle, words.front()));
}

std::vector<Target> resolve_targets(const TargetOptions& options, bool dead) {
  std::vector<Target> targets;
  for (const std::string& word : options.words) {
    const std::size_t first = targets.size();
    try {
      if (is_source_file(word))
        for (Target& t : source_targets(word, options)) targets.push_back(std::move(t));
      else if (is_library(word))
        for (Target& t : plugin_targets(word, options)) targets.push_back(std::move(t));
      else if (is_python_callable(word))
        for (Target& t : python_targets(word, options)) targets.push_back(std::move(t));
      else
        targets.push_back(key_target(word, options));
    } catch (const DiedAtLoad& d) {
      if (!dead) throw;
      targets.push_back(dead_target(word, options, d));
    }
    for (std::size_t i = first; i < targets.size(); ++i) {
      if (targets[i].variant.backend == Backend::plugin) targets[i].file = word;
      if (const std::optional<CompiledFile> made = compiled_of(targets[i].variant))
        for (const HashedFile& f : made->files) note_read(f.path, f.sha256);
      if (!targets[i].binary.empty()) note_binary(targets[i].binary, sha256_of_file(targets[i].binary));
    }
  }
  if (const auto names = names_of_parts(options.whole); names.size() > 1) {
    for (Target& t : targets) {
      if (t.file.empty()) continue;
      const std::string& own = names.at(plain_path(path_in(t.file)));
      if (t.died)
        t.variant.variant = own;
      else
        rename(t, own + "." + t.variant.variant);
    }
  } else {
    tell_apart(targets);
  }
  return targets;
}

std::string without_gpu_words(const std::vector<Target>& targets) {
  if (unavailable_reason(Backend::cuda).empty()) return {};
  for (const Target& t : targets) {
    const bool source =
        !t.file.empty() && !is_python_callable(t.file) && path_in(t.file).extension() != ".so";
    if (source && !t.died && on_device(t.variant))
      return "add --host to judge it on the CPU, which is no adoption for a GPU\n";
  }
  return {};
}

void require_targets(const std::vector<std::string>& words) {
  std::set<std::string> whole, parts;  // words, and files of which only one kernel is named
  for (const std::string& word : words) {
    const std::filesystem::path path = path_in(word);
    const bool module = is_python_callable(word) && path.extension() != ".py";  // Python finds it
    if (!names_a_file(word))
      registered(word);
    else if (!module && !std::filesystem::exists(path))
      throw InputError(path.string() + ": no such file");
    const std::string file = plain_path(path);
    const bool one = word.size() > path.string().size();
    if (one) parts.insert(file);
    const bool fresh = whole.insert(file + word.substr(path.string().size())).second;
    if (!fresh || (one ? whole.contains(file) : parts.contains(file)))
      throw InputError(word + ": is named twice");
  }
}

Target with_declared(Target t, const std::string& words) {
  if (words.empty()) return t;
  t.variant = declared(std::move(t.variant), words);
  t.make = [make = std::move(t.make), words] { return declared(make(), words); };
  t.words += " --declare " + shell_quoted(words);
  return t;
}

std::string Target::unique_name() const {
  if (file.empty()) return variant.key();
  const std::filesystem::path path = path_in(file);
  std::uint32_t hash = 0x811c9dc5u;
  for (const char c : std::filesystem::absolute(path).lexically_normal().string())
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return fmt::format("{}+{}.{:08x}", variant.key(), path.stem().string(), hash);
}

std::vector<Target> candidates_named(const std::string& word, const CandidateOptions& o, bool dead) {
  TargetOptions targets{{}, o.source, o.timeout_seconds};
  for (const Variant& v : registry())
    if (fnmatch(word.c_str(), v.key().c_str(), 0) == 0) targets.words.push_back(v.key());
  if (targets.words.empty()) targets.words.push_back(word);
  std::vector<Target> found = resolve_targets(targets, dead);
  for (Target& t : found)
    if (o.in_process && t.variant.run) t.make = [v = t.variant] { return v; };
  return found;
}

Target candidate_for(const std::string& word, const std::string& key, Op op, Dtype dtype,
                     const CandidateOptions& o) {
  for (Target& t : candidates_named(word, o))
    if ((key.empty() || t.variant.key() == key) && t.variant.does(op) && t.variant.dtype == dtype) return t;
  throw InputError(fmt::format("{}: has no kernel{} for {} of {}", word, key.empty() ? "" : " " + key,
                               name(op), name(dtype)));
}

}  // namespace assay
