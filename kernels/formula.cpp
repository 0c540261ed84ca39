// SPDX-License-Identifier: Apache-2.0
// Reads and evaluates a formula in one pass, by recursive descent. It detects every overflow.
#include "kernels/formula.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

constexpr std::size_t kLongestHeight = 1000;
constexpr int kDeepest = 50;
constexpr std::int64_t kLongestRow = std::int64_t{1} << 34;
/// A shared object may not ask for more bytes than this.
constexpr __int128 kMostBytes = __int128{1} << 62;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// Reads the formula of a height, or else that of a size.
class Reader {
 public:
  using Number = __int128;

  Reader(std::string_view text, bool height, const SizeVariables& v) : text_(text), height_(height), v_(v) {
    next();
  }

  /// Throws InputError for what is no formula.
  Number run() {
    const Number n = operation(0, 0);
    if (!token_.empty())
      refuse("an operator is missing after " + before(), in_quotes(token_) + " is not expected there");
    return bounded(n);
  }
  /// Empty, or why the formula has no value for these variables.
  const std::string& why() const { return why_; }
  std::string where() const {
    return " for " + std::to_string(v_.rows) + " rows of " + std::to_string(v_.V) +
           (v_.k > 0 ? ", k = " + std::to_string(v_.k) : "");
  }

 private:
  /// What operators of this level join. Those of a level are evaluated from left to right, higher levels
  /// first.
  Number operation(std::size_t level, int depth) {
    static constexpr std::string_view kSigns[] = {"<<>>", "+-", "*/%"};
    if (level == std::size(kSigns)) return factor(depth);
    Number a = operation(level + 1, depth);
    while (token_.size() == (level == 0 ? 2 : 1) && kSigns[level].find(token_) != std::string_view::npos &&
           !(height_ && (level == 0 || token_ == "%"))) {
      const char sign = token_[0];
      next();
      const Number b = operation(level + 1, depth);
      a = joined(sign, a, b);
    }
    return a;
  }
  Number joined(char sign, Number a, Number b) {
    if ((sign == '/' || sign == '%') && b == 0) return none("divides by 0" + where());
    if (sign == '<' || sign == '>') {
      if (b < 0 || b > 62 || a < 0) return none("shifts by " + std::to_string(static_cast<long long>(b)));
      return sign == '<' ? bounded(a << static_cast<int>(b)) : a >> static_cast<int>(b);
    }
    // Of a height, divisions are rounded up.
    if (sign == '/') return a / b + (height_ && a % b != 0 && (a < 0) == (b < 0));
    return bounded(sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a % b);
  }
  /// The limit is far above any that is meant, and no product of two numbers within it overflows.
  Number bounded(Number n) {
    const Number most = height_ ? INT64_MAX : kMostBytes;
    return n > most || n < -most ? none("is more than any machine has" + where()) : n;
  }

  Number factor(int depth) {
    if (depth > kDeepest) refuse("parentheses are nested too deeply", "has too many parentheses");
    if (!token_.empty() && digit(token_[0])) return number();
    if (take("V")) return v_.V;
    if (!height_ && take("rows")) return v_.rows;
    if (!height_ && take("k")) return v_.k;
    if (take("(")) return closed(operation(0, depth + 1));
    if (!height_ && take("-")) return -factor(depth + 1);
    if (!height_ && take("+")) return factor(depth + 1);
    if (height_ && take("log2")) {
      expect("(");
      const Number n = closed(operation(0, depth + 1));
      if (n < 1) return none("is a logarithm of 0");
      int levels = 0;
      while (Number{1} << levels < n) ++levels;
      return levels;
    }
    for (const bool least : {true, false})
      if (height_ && take(least ? "min" : "max")) {
        expect("(");
        Number n = operation(0, depth + 1);
        expect(",");
        do {
          const Number other = operation(0, depth + 1);
          n = least ? std::min(n, other) : std::max(n, other);
        } while (take(","));
        return closed(n);
      }
    refuse("a number, V, log2, min, max or a parenthesis is missing after " + before(),
           token_.empty()      ? "ends where a number is missing"
           : letter(token_[0]) ? in_quotes(token_) + " is none of rows, V and k"
                               : in_quotes(token_) + " where a number is missing");
  }
  Number number() {
    std::string_view digits = token_;
    if (!height_) digits = digits.substr(0, digits.find_last_not_of("uUlLzZ") + 1);
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (hex) digits.remove_prefix(2);
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n, hex ? 16 : 10);
    if (error != std::errc() || end != digits.data() + digits.size())
      refuse("a number is too large", in_quotes(token_) + " is no whole number");
    next();
    return n;
  }

  /// Goes on to the next token: a word, a number, a sign, or nothing at the end.
  void next() {
    at_ += token_.size();
    while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r'))) ++at_;
    const std::string_view rest = text_.substr(at_);
    // 2V is two tokens of a height. Of a size it is a number that is none.
    const bool number = !rest.empty() && digit(rest[0]), letters = !number || !height_;
    std::size_t n = 0;
    while (n < rest.size() &&
           (digit(rest[n]) || (letters && letter(rest[n])) || (letters && number && rest[n] == '.')))
      ++n;
    token_ = rest.substr(0, n > 0 ? n : rest.starts_with("<<") || rest.starts_with(">>") ? 2 : 1);
  }
  bool take(std::string_view token) {
    if (token_ != token) return false;
    next();
    return true;
  }
  void expect(const std::string& sign) {
    if (!take(sign)) refuse("'" + sign + "' is missing after " + before(), "a '" + sign + "' is missing");
  }
  Number closed(Number n) {
    expect(")");
    return n;
  }

  /// The end of the text read so far, in one line.
  std::string before() const {
    std::string s(text_.substr(at_ > 40 ? at_ - 40 : 0, std::min<std::size_t>(at_, 40)));
    std::ranges::replace_if(
        s, [](char c) { return c < ' '; }, ' ');
    return s.empty() ? "nothing" : "'" + s + "'";
  }
  [[noreturn]] void refuse(const std::string& height, const std::string& size) const {
    throw InputError(height_ ? "height: " + height : size);
  }
  Number none(const std::string& why) {
    if (why_.empty()) why_ = why;
    return 0;
  }

  const std::string_view text_;
  const bool height_;
  const SizeVariables v_;
  std::string_view token_;
  std::size_t at_ = 0;  // where the token begins
  std::string why_;
};

}  // namespace

class Formula {
 public:
  explicit Formula(std::string_view text) : text_(text) {
    if (text.size() > kLongestHeight) throw InputError("height: the formula is longer than 1000 characters");
    for (std::int64_t V = 1; V <= 4096; ++V) try_at(V);
    for (std::int64_t V = 8192; V <= kLongestRow; V *= 2)
      for (const std::int64_t near : {V - 1, V, V + 1}) try_at(near);
  }

  const std::string& text() const { return text_; }
  /// None if it cannot be computed.
  std::optional<std::int64_t> at(std::int64_t V) const {
    Reader reader(text_, true, {0, V, 0});
    const auto n = static_cast<std::int64_t>(reader.run());
    return reader.why().empty() ? std::optional(n) : std::nullopt;
  }

 private:
  void try_at(std::int64_t V) const {
    const std::optional<std::int64_t> n = at(V);
    const auto refuse = [&](const std::string& why, const std::string& more = {}) {
      throw InputError("height: " + why + " at V = " + std::to_string(V) + more);
    };
    if (!n) refuse("a division by zero, a logarithm of 0 or an overflow");
    if (*n < 0) refuse("it is negative");
    if (*n > V + kSpareLevels)
      refuse("it is " + std::to_string(*n), ": no sum of " + std::to_string(V) + " terms is that high");
  }

  const std::string text_;
};

std::string_view Height::text() const { return formula_ ? formula_->text() : std::string_view{}; }
// Empty rows are never summed. The check `claim` refuses -1.
std::int64_t Height::of_formula(std::int64_t V) const { return V < 1 ? 0 : formula_->at(V).value_or(-1); }

Height height_formula(std::string_view text) {
  // Kept until the process ends: claims are copied freely and refer to them.
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Formula>, std::less<>> formulas;
  const std::lock_guard lock(mutex);
  if (const auto known = formulas.find(text); known != formulas.end()) return Height(*known->second);
  auto made = std::make_unique<const Formula>(text);
  return Height(*(formulas[made->text()] = std::move(made)));
}

std::string size_formula(std::string_view text, const SizeVariables& v) {
  try {
    Reader reader(text, false, v);
    const bool below = reader.run() < 0;
    return !reader.why().empty() ? reader.why() : below ? "is below 0" + reader.where() : std::string();
  } catch (const InputError& e) {
    return e.what();
  }
}

}  // namespace assay
