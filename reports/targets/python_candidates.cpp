// SPDX-License-Identifier: Apache-2.0
#include "reports/targets/python_candidates.hpp"

#include <algorithm>
#include <cctype>

#include "kernels/python/python_arguments.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
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
