// SPDX-License-Identifier: Apache-2.0
#include "reports/targets/candidates.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "kernels/adapter/units/finder.hpp"
#include "kernels/declaration.hpp"
#include "kernels/python/python_kernel.hpp"
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
  struct One {
    OneFile file;
    CompiledFile made;
    std::string plugin;
  };
  std::mutex lock;
  std::map<std::string, One> files;
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
  stranger.claim = undeclared_claim(stranger.op);
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
    c.with_options = !source_arguments(one).empty();
    remember_source(c.variant, one_file(word, one), made, c.plugin);
    all.push_back(std::move(c));
  }
  return all;
}

void remember_source(const Variant& variant, const OneFile& file, const CompiledFile& made,
                     const std::string& plugin) {
  const std::lock_guard<std::mutex> lock(sources().lock);
  sources().files[variant.origin] = {file, made, plugin};
}

std::optional<OneFile> source_of(const Variant& variant) {
  const std::lock_guard<std::mutex> lock(sources().lock);
  const auto at = sources().files.find(variant.origin);
  return at == sources().files.end() ? std::nullopt : std::optional(at->second.file);
}

std::optional<CompiledFile> compiled_of(const Variant& variant) {
  const std::lock_guard<std::mutex> lock(sources().lock);
  const auto at = sources().files.find(variant.origin);
  return at == sources().files.end() || at->second.made.path.empty() ? std::nullopt
                                                                     : std::optional(at->second.made);
}

std::string loaded_words(const Variant& variant, const std::string& words) {
  const std::lock_guard<std::mutex> lock(sources().lock);
  const auto at = sources().files.find(variant.origin);
  if (at == sources().files.end() || at->second.plugin.empty() ||
      !(words + " ").starts_with(variant.origin + " "))
    return words;
  std::string loaded = shell_quoted(at->second.plugin);
  if (const std::string& own = at->second.file.declaration; !own.empty())
    loaded += " --declare " + shell_quoted(own);
  return loaded + words.substr(variant.origin.size());
}

namespace {

/// "a.b_c": names with dots between them.
bool dotted_name(const std::string& s) {
  bool begins = true;
  for (const char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (begins ? !(std::isalpha(u) || c == '_') : !(std::isalnum(u) || c == '_' || c == '.')) return false;
    begins = c == '.';
  }
  return !begins;
}

struct Words {
  std::string place, function;
};

Words split(const std::string& word) {
  const std::size_t at = word.rfind(':');
  if (at == word.npos) return {word, ""};
  const std::size_t end = at > 0 && word[at - 1] == ':' ? at - 1 : at;
  return {word.substr(0, end), word.substr(at + 1)};
}

/// "f16" or "f16:f32": the type of the logits, and of the outputs if it differs.
std::pair<Dtype, Dtype> types_in(const std::string& word) {
  const std::size_t at = word.find(':');
  const auto in = parse_dtype(word.substr(0, at));
  const auto out = at == word.npos ? in : parse_dtype(word.substr(at + 1));
  if (!in || !out || !can_judge(*in) || !can_judge(*out))
    throw InputError("--types " + word + ": must be f16, bf16 or f32, or inputs:outputs, as f16:f32");
  return {*in, *out};
}

}  // namespace

bool is_python_callable(const std::string& word) {
  if (word.ends_with(".py")) return true;
  const auto [place, function] = split(word);
  return dotted_name(function) && (place.ends_with(".py") || dotted_name(place));
}

PythonCallable python_callable(const std::string& word, const SourceOptions& o) {
  PythonCallable c;
  const auto [place, function] = split(word);
  if (function.empty()) throw InputError(word + ": say which function: " + word + ":softmax");
  const std::pair<const char*, bool> foreign[] = {{"--entry", !o.entry.empty()},
                                                  {"--nvcc-flags", !o.nvcc_flags.empty()},
                                                  {"--build-dir", !o.build_dir.empty()}};
  for (const auto& [option, given] : foreign)
    if (given)
      throw InputError(std::string(option) + ": is for files that are compiled, and not for " + word);
  check_python_arguments(o.args);
  c.arguments = o.args;
  c.shown = word;
  c.is_file = place.ends_with(".py");
  c.place = place;
  c.function = function;
  c.interpreter = o.python;
  c.host = o.host;
  c.name = o.name.empty() ? function : o.name;
  if (o.name.empty())
    for (char& letter : c.name)
      if (letter == '.') letter = '_';
  if (!o.op.empty()) {
    const std::optional<Op> op = parse_op(o.op);
    if (!op || !from_logits(*op))
      throw InputError("--op " + o.op + ": a Python callable does " + names_of_ops_from_logits());
    c.op = *op;
  }
  if (!o.dtypes.empty()) c.types.clear();
  for (const std::string& t : o.dtypes) c.types.push_back(types_in(t));
  return c;
}

std::string python_words(const std::string& word, const SourceOptions& o, const Variant& v) {
  std::string s = shell_quoted(word);
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty()) s += " " + option + " " + shell_quoted(value);
  };
  for (const std::string& a : o.args) add("--arg", a);
  add("--op", o.op);
  std::string types = name(v.dtype);
  if (v.out() != v.dtype) types += std::string(":") + name(v.out());
  if (types != "f32") add("--types", types);
  add("--name", o.name);
  if (o.host) s += " --host";
  add("--python", o.python);
  return s;
}

}  // namespace assay
