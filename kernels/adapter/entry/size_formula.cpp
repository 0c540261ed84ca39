// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/entry/size_formula.hpp"

#include <charconv>
#include <vector>

#include "kernels/adapter/entry/tokens.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

/// A shared object may not ask for more bytes than this.
constexpr __int128 kMostBytes = __int128{1} << 62;
constexpr int kMostParentheses = 64;

class FormulaEvaluator {
 public:
  FormulaEvaluator(std::vector<EntryToken> tokens, const SizeVariables& v) : t_(std::move(tokens)), v_(v) {}

  std::string run() {
    const __int128 n = shifted(0);
    if (why_.empty() && at_ < t_.size()) fail(in_quotes(t_[at_].spelling) + " is not expected there");
    if (why_.empty() && n < 0) fail("is below 0" + where());
    if (why_.empty() && n > kMostBytes) fail("is more than any machine has" + where());
    return why_;
  }

 private:
  bool is(const char* sign) const { return at_ < t_.size() && t_[at_].is(sign); }
  bool is_shift(const char* sign) const { return is(sign) && at_ + 1 < t_.size() && t_[at_ + 1].is(sign); }
  std::string where() const {
    return " for " + std::to_string(v_.rows) + " rows of " + std::to_string(v_.V) +
           (v_.k > 0 ? ", k = " + std::to_string(v_.k) : "");
  }
  __int128 fail(const std::string& why) {
    if (why_.empty()) why_ = why;
    at_ = t_.size();
    return 0;
  }
  /// The limit is far above any size and far below overflow.
  __int128 bounded(__int128 n) {
    return n > kMostBytes || n < -kMostBytes ? fail("is more than any machine has" + where()) : n;
  }

  __int128 shifted(int depth) {
    __int128 n = sum(depth);
    while (is_shift("<") || is_shift(">")) {
      const bool left = is("<");
      at_ += 2;
      const __int128 by = sum(depth);
      if (!why_.empty()) return 0;
      if (by < 0 || by > 62 || n < 0) return fail("shifts by " + std::to_string(static_cast<long long>(by)));
      n = left ? bounded(n * (__int128{1} << by)) : n >> by;
    }
    return n;
  }
  __int128 sum(int depth) {
    __int128 n = product(depth);
    while (is("+") || is("-")) {
      const bool minus = is("-");
      ++at_;
      const __int128 m = product(depth);
      n = bounded(minus ? n - m : n + m);
    }
    return n;
  }
  __int128 product(int depth) {
    __int128 n = factor(depth);
    while (is("*") || is("/") || is("%")) {
      const std::string_view sign = t_[at_++].spelling;
      const __int128 m = factor(depth);
      if (!why_.empty()) return 0;
      if (sign != "*" && m == 0) return fail("divides by 0" + where());
      n = sign == "*" ? bounded(n * m) : sign == "/" ? n / m : n % m;
    }
    return n;
  }
  __int128 factor(int depth) {
    if (at_ >= t_.size()) return fail("ends where a number is missing");
    if (depth > kMostParentheses) return fail("has too many parentheses");
    const EntryToken& t = t_[at_++];
    if (t.is("-")) return -factor(depth + 1);
    if (t.is("+")) return factor(depth + 1);
    if (t.is("(")) {
      const __int128 n = shifted(depth + 1);
      if (!why_.empty()) return 0;
      if (!is(")")) return fail("a ')' is missing");
      ++at_;
      return n;
    }
    if (t.is("rows")) return v_.rows;
    if (t.is("V")) return v_.V;
    if (t.is("k")) return v_.k;
    if (t.kind == EntryToken::word) return fail(in_quotes(t.spelling) + " is none of rows, V and k");
    if (t.kind != EntryToken::number) return fail(in_quotes(t.spelling) + " where a number is missing");
    return number(t.spelling);
  }
  __int128 number(std::string_view text) {
    std::string_view digits = text;
    while (!digits.empty() && std::string_view("uUlLzZ").find(digits.back()) != std::string_view::npos)
      digits.remove_suffix(1);
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (hex) digits.remove_prefix(2);
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n, hex ? 16 : 10);
    if (error != std::errc() || end != digits.data() + digits.size())
      return fail(in_quotes(text) + " is no whole number");
    return n;
  }

  const std::vector<EntryToken> t_;
  const SizeVariables v_;
  std::size_t at_ = 0;
  std::string why_;
};

}  // namespace

std::string size_formula(std::string_view text, const SizeVariables& v) {
  try {
    return FormulaEvaluator(entry_tokens(text), v).run();
  } catch (const InputError& e) {
    return e.what();
  }
}

}  // namespace assay
