// SPDX-License-Identifier: Apache-2.0
#include "accuracy/reproduce.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "reference/quoting.hpp"

namespace assay {
namespace {

/// The words that name the candidate on a command line. A path is one word, whatever characters it has.
std::string candidate_words(const Variant& v) {
  if (v.origin.empty()) return "report --key " + shell_quoted(v.key());
  std::error_code ignored;
  const std::string path = v.origin.substr(0, v.origin.find('#'));
  return "check " + (std::filesystem::exists(path, ignored) ? shell_quoted(v.origin) : v.origin);
}

class Line {
 public:
  explicit Line(const std::string& words) : line_("assay " + words) {}
  void option(const char* name, const std::string& word) {
    if (!word.empty()) line_ += fmt::format(" {} {}", name, shell_quoted(word));
  }
  template <class Number>
  void option(const char* name, const std::optional<Number>& number) {
    if (number) line_ += fmt::format(" {} {}", name, *number);
  }
  std::string line_;
};

}  // namespace

std::string reproduce(const Repeat& r) {
  Line l(r.words);
  l.option("--only", r.group);
  l.option("--family", r.family);
  l.option("--V", r.V);
  l.option("--rows", r.rows);
  l.option("--seed", r.seed);
  l.option("--k", r.k);
  l.option("--op", r.op ? name(*r.op) : "");
  l.option("--setup", r.setup);
  l.option("--dtype", r.dtype ? name(*r.dtype) : "");
  l.option("--declare", r.declare);
  l.option("--max-ulp", r.max_ulp);
  if (!r.extent.empty()) l.line_ += " --" + r.extent;
  l.option("--pitch", r.pitch);
  return l.line_;
}

Repeat repeat_of(const Variant& variant, const std::string& family, Op op, std::int64_t V, std::int64_t rows,
                 int k, std::uint64_t seed) {
  Repeat r;
  r.words = candidate_words(variant);
  r.family = family;
  r.V = V;
  r.rows = rows;
  r.seed = seed;
  if (has_k(op)) r.k = k;
  if (op != variant.op) r.op = op;
  return r;
}

}  // namespace assay
