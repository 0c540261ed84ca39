// SPDX-License-Identifier: Apache-2.0
#include "reports/targets/source_candidates.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "kernels/adapter/units/finder.hpp"
#include "kernels/declaration.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

/// "my.cu#name": the file, and "#name" if present.
std::pair<std::string, std::string> file_and_name(const std::string& word) {
  const std::size_t at = word.rfind('#');
  if (at == word.npos || std::filesystem::exists(word)) return {word, ""};
  return {word.substr(0, at), word.substr(at)};
}

/// Compiled files, by the words that name a candidate.
struct Sources {
  std::mutex lock;
  std::map<std::string, std::pair<OneFile, CompiledFile>> files;
};
Sources& sources() {
  static Sources all;
  return all;
}

}  // namespace

void add_source_options(CLI::App& command, SourceOptions& o) {
  const char* const group = "A source file";
  command
      .add_option(
          "--entry", o.entry,
          "the function to call: its name, if the file defines only one of that name (launch, launch<float, "
          "256>), or its declaration: 'void softmax(const float* in, float* out, int rows, int V, "
          "cudaStream_t s)'; without --entry the file must have ASSAY_VARIANT lines")
      ->group(group);
  command
      .add_option("--arg", o.args,
                  "NAME=ROLE or NAME=VALUE for a parameter: N=rows, n=rows*V, B=rows/V, p=threshold, "
                  "block=256, tmp='workspace(rows * 4)'; rows=1 if a call has one row; for a Python callable "
                  "mask=mask_keep:bool, bias=bias:f32, dim=-1")
      ->group(group)
      ->allow_extra_args(false);
  command.add_flag("--host", o.host, "compile for the host executor instead of the GPU")->group(group);
  command.add_option("--nvcc-flags", o.nvcc_flags, "more words for nvcc; -D, -U and -I also with --host")
      ->group(group);
  command
      .add_option("--types", o.dtypes,
                  "the types that T in the entry stands for, or that a Python callable takes: f16,bf16,f32")
      ->group(group)
      ->delimiter(',');
  command
      .add_option("--name", o.name,
                  "what the kernel is called: letters, digits, _ and - (the function's name)")
      ->group(group)
      ->check(CLI::Validator(
          [](std::string& word) {
            if (!is_kernel_name(word))
              throw InputError("--name " + assay::shell_quoted(word) +
                               ": a name has letters, digits, _ and -");
            return std::string();
          },
          ""));
  command.add_option("--python", o.python, "the interpreter of FILE.py:FUNCTION (python3 on PATH)")
      ->group(group);
  command.add_option("--build-dir", o.build_dir, "where it is compiled (~/.cache/assay)")->group(group);
}

bool is_kernel_name(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool is_source_file(const std::string& word) {
  const std::string end = std::filesystem::path(file_and_name(word).first).extension().string();
  for (const char* known : {".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c"})
    if (end == known) return true;
  return false;
}

namespace {

/// Replaces a name by its declaration in the file. If the file cannot be read, the compilation reports it.
std::string entry_in(const std::string& source, const std::string& entry) {
  if (std::error_code ignored; !std::filesystem::is_regular_file(source, ignored)) return entry;
  std::ifstream in(source, std::ios::binary);
  std::ostringstream text;
  return in && text << in.rdbuf() ? find_entry(entry, text.str()) : entry;
}

}  // namespace

OneFile one_file(const std::string& word, const SourceOptions& o) {
  OneFile f;
  f.source = file_and_name(word).first;
  f.entry = entry_in(f.source, o.entry);
  f.args = o.args;
  f.host = o.host;
  f.nvcc_flags = o.nvcc_flags;
  f.build_dir = o.build_dir;
  f.declaration = o.declare;
  // --declare is known before compilation, and is the user's own: it comes from no plugin.
  Variant stranger;
  stranger.claim = undeclared_claim();
  stranger.limits = undeclared_limits();
  apply_declaration(o.declare, stranger);
  f.name = o.name;
  if (!o.op.empty()) {
    f.op = parse_op(o.op);
    if (!f.op) throw InputError("--op " + o.op + ": unknown operation");
  }
  for (const std::string& t : o.dtypes) {
    const std::optional<Dtype> dtype = parse_dtype(t);
    if (!dtype || !can_judge(*dtype)) throw InputError("--types " + t + ": f16, bf16 and f32 can be judged");
    f.dtypes.push_back(*dtype);
  }
  return f;
}

std::vector<std::string> source_arguments(const SourceOptions& o) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--entry", o.entry);
  for (const std::string& a : o.args) add("--arg", a);
  if (o.host) words.emplace_back("--host");
  add("--nvcc-flags", o.nvcc_flags);
  std::string types;
  for (const std::string& t : o.dtypes) types += (types.empty() ? "" : ",") + t;
  add("--types", types);
  add("--name", o.name);
  add("--declare", o.declare);
  // A file that registers itself states its op; there --op only selects among its variants.
  if (!o.entry.empty()) add("--op", o.op);
  add("--build-dir", o.build_dir);
  return words;
}

std::string source_words(const std::string& word, const SourceOptions& o) {
  std::string s = shell_quoted(word);
  for (const std::string& w : source_arguments(o)) s += " " + shell_quoted(w);
  return s;
}

namespace {

/// What is wrong with the kernels of a file is said of the file, and not of what was made from it.
std::vector<Variant> load_compiled(const CompiledFile& made, const std::string& file, const std::string& name,
                                   const IsolationOptions& isolation) {
  try {
    return load_plugin(made.path + name, isolation);
  } catch (const DiedAtLoad&) {
    throw;
  } catch (const InputError& e) {
    const std::string text = e.what();
    throw text.starts_with(made.path + ": ") ? InputError(file + text.substr(made.path.size())) : e;
  }
}

}  // namespace

std::vector<SourceCandidate> source_candidates(const std::string& word, const SourceOptions& options,
                                               const IsolationOptions& isolation) {
  const CompiledFile made = compile(one_file(word, options));
  const auto [file, name] = file_and_name(word);
  std::vector<SourceCandidate> all;
  for (Variant& v : load_compiled(made, file, name, isolation)) {
    SourceCandidate c{std::move(v), ""};
    c.plugin = c.variant.origin;
    std::string set;  // what changed the command from outside
    for (const std::string& one : made.environment) set += shell_quoted(one) + " ";
    c.variant.file = file + " (" + made.compiler + "; " + made.way + "; " + set + made.command + ")";
    // --types selects one of several types, and the name behind the file's name one of several variants.
    SourceOptions one = options;
    if (!one.dtypes.empty()) one.dtypes = {assay::name(c.variant.dtype)};
    const std::size_t at = c.plugin.rfind('#');
    const bool several = options.entry.empty() && at != c.plugin.npos;
    c.variant.origin = source_words(several ? file + c.plugin.substr(at) : file, one);
    remember_source(c.variant, one_file(word, one), made);
    all.push_back(std::move(c));
  }
  return all;
}

void remember_source(const Variant& variant, const OneFile& file, const CompiledFile& made) {
  const std::lock_guard<std::mutex> lock(sources().lock);
  sources().files[variant.origin] = {file, made};
}

std::optional<OneFile> source_of(const Variant& variant) {
  const std::lock_guard<std::mutex> lock(sources().lock);
  const auto at = sources().files.find(variant.origin);
  return at == sources().files.end() ? std::nullopt : std::optional(at->second.first);
}

std::optional<CompiledFile> compiled_of(const Variant& variant) {
  const std::lock_guard<std::mutex> lock(sources().lock);
  const auto at = sources().files.find(variant.origin);
  return at == sources().files.end() || at->second.second.path.empty() ? std::nullopt
                                                                       : std::optional(at->second.second);
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
