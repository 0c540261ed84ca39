// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/units/left_out.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "kernels/adapter/entry/tokens.hpp"

namespace assay {
namespace {

bool of_nvcc(std::string_view word) {
  return word == "__NVCC__" || word.starts_with("__CUDACC") || word.starts_with("__CUDA_ARCH");
}

/// The value of a condition where nvcc's macros are not defined and nothing is known of any other. Empty if
/// it is not known.
class Condition {
 public:
  explicit Condition(std::vector<SourceToken> tokens) : t_(std::move(tokens)) {}

  std::optional<long> value() {
    const std::optional<long> v = any_of();
    return at_ == t_.size() ? v : std::nullopt;
  }

 private:
  bool next(std::string_view sign) {
    // "&&" is two tokens, as every sign but "::" is one character.
    if (at_ + sign.size() > t_.size()) return false;
    for (std::size_t i = 0; i < sign.size(); ++i)
      if (t_[at_ + i].spelling != sign.substr(i, 1)) return false;
    at_ += sign.size();
    return true;
  }
  std::optional<long> any_of() {
    std::optional<long> v = all_of();
    while (next("||")) {
      const std::optional<long> w = all_of();
      v = (v && *v) || (w && *w) ? std::optional(1L) : v && w ? std::optional(0L) : std::nullopt;
    }
    return v;
  }
  std::optional<long> all_of() {
    std::optional<long> v = compared();
    while (next("&&")) {
      const std::optional<long> w = compared();
      v = (v && !*v) || (w && !*w) ? std::optional(0L) : v && w ? std::optional(1L) : std::nullopt;
    }
    return v;
  }
  std::optional<long> compared() {
    const std::optional<long> v = one();
    for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!next(sign)) continue;
      const std::optional<long> w = one();
      if (!v || !w) return {};
      const std::string_view s = sign;
      return s == "=="   ? *v == *w
             : s == "!=" ? *v != *w
             : s == "<=" ? *v <= *w
             : s == ">=" ? *v >= *w
             : s == "<"  ? *v < *w
                         : *v > *w;
    }
    return v;
  }
  std::optional<long> one() {
    if (at_ >= t_.size()) return {};
    if (next("!")) {
      const std::optional<long> v = one();
      return v ? std::optional(long{*v == 0}) : v;
    }
    if (next("(")) {
      const std::optional<long> v = any_of();
      return next(")") ? v : std::nullopt;
    }
    const SourceToken t = t_[at_++];
    if (t.is("defined")) {
      const bool open = next("(");
      if (at_ >= t_.size()) return {};
      const bool known = of_nvcc(t_[at_++].spelling);
      if (open && !next(")")) return {};
      return known ? std::optional(0L) : std::nullopt;
    }
    if (t.kind == SourceToken::number) return std::strtol(std::string(t.spelling).c_str(), nullptr, 0);
    return of_nvcc(t.spelling) ? std::optional(0L) : std::nullopt;
  }

  std::vector<SourceToken> t_;
  std::size_t at_ = 0;
};

/// A chain of branches.
struct Chain {
  std::string macro;               // of nvcc's, in the conditions until now; empty: none
  bool taken = false;              // a branch before this one is taken, because of it
  bool left_out = false;           // this branch is
  bool around = false;             // the whole chain stands in a branch that is
  int code_from = 0, code_to = 0;  // lines of this branch that hold anything
};

}  // namespace

std::vector<LeftOut> left_out_on_host(std::string_view text) {
  std::vector<LeftOut> all;
  std::vector<Chain> open;
  const auto branch = [&](Chain& c, std::vector<SourceToken> condition, bool negated) {
    std::string macro;
    for (const SourceToken& t : condition)
      if (of_nvcc(t.spelling)) macro = t.spelling;
    std::optional<long> v;
    if (!macro.empty()) v = Condition(std::move(condition)).value();
    if (v && negated) v = *v == 0;
    c.left_out = c.taken || (!macro.empty() && (!v || *v == 0));
    if (!macro.empty()) c.macro = macro;
    c.taken = c.taken || (v && *v != 0);
    c.code_from = c.code_to = 0;
  };
  const auto end_branch = [&](const Chain& c) {
    if (!c.macro.empty() && !c.around && c.code_from > 0)
      all.push_back({c.code_from, c.code_to, c.macro, !c.left_out});
  };
  const auto code = [&](int from, int to) {
    for (Chain& c : open) {
      if (c.code_from == 0) c.code_from = from;
      c.code_to = to;
    }
  };
  for (const SourceToken& t : source_tokens(text)) {
    const int last = t.line + static_cast<int>(std::count(t.spelling.begin(), t.spelling.end(), '\n'));
    if (t.kind == SourceToken::blank) continue;
    if (t.kind != SourceToken::directive) {
      code(t.line, last);
      continue;
    }
    std::vector<SourceToken> words = source_tokens(t.spelling.substr(1));
    std::erase_if(words, [](const SourceToken& w) { return w.kind == SourceToken::blank; });
    const std::string what(words.empty() ? "" : words[0].spelling);
    if (!words.empty()) words.erase(words.begin());
    if (what == "if" || what == "ifdef" || what == "ifndef") {
      Chain c;
      c.around = std::any_of(open.begin(), open.end(), [](const Chain& o) { return o.left_out; });
      branch(c, std::move(words), what == "ifndef");
      open.push_back(std::move(c));
    } else if (what.starts_with("el") && !open.empty()) {
      end_branch(open.back());
      branch(open.back(), std::move(words), what == "elifndef");
    } else if (what == "endif" && !open.empty()) {
      const Chain c = open.back();
      open.pop_back();
      end_branch(c);
    } else {
      code(t.line, last);
    }
  }
  return all;
}

}  // namespace assay
