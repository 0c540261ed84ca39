// SPDX-License-Identifier: Apache-2.0
#include "accuracy/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "reference/text.hpp"

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
  void numbers(const Repeat& r, bool of_inputs) {
    for (const Repeat::Number& n : r.numbers)
      if (n.of_inputs == of_inputs) line_ += fmt::format(" {} {}", n.option, n.text);
  }
  std::string line_;
};

}  // namespace

std::string reproduce(const Repeat& r) {
  Line l(r.words);
  l.option("--only", r.group);
  l.option("--family", r.family);
  l.numbers(r, true);
  l.option("--seed", r.seed);
  l.numbers(r, false);
  l.option("--op", r.op ? name(*r.op) : "");
  l.option("--setup", r.setup);
  l.option("--dtype", r.dtype ? name(*r.dtype) : "");
  l.option("--declare", r.declare);
  l.option("--max-ulp", r.max_ulp);
  if (!r.extent.empty()) l.line_ += " --" + r.extent;
  l.option("--pitch", r.pitch);
  return l.line_;
}

std::string option_of(const SizeInfo& size) {
  std::string option = fmt::format("--{}", size.name);
  std::replace(option.begin(), option.end(), '_', '-');
  return option;
}

std::string options_of(Op op, const CaseShape& shape) {
  std::string line;
  each_size(info(op).sizes, shape, [&](const SizeInfo& s, auto n) {
    if (s.in_use) line += fmt::format(" {} {}", option_of(s), text_of_number(n));
  });
  return line;
}

Repeat repeat_of(const Variant& variant, const std::string& family, Op op, const CaseShape& shape,
                 std::uint64_t seed) {
  Repeat r;
  r.words = candidate_words(variant);
  r.family = family;
  r.seed = seed;
  each_size(info(op).sizes, shape, [&](const SizeInfo& s, auto n) {
    if (s.in_use) r.numbers.push_back({s.part, of_inputs(s), option_of(s), text_of_number(n)});
  });
  if (op != variant.op) r.op = op;
  return r;
}

}  // namespace assay
