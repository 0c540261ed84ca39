// SPDX-License-Identifier: Apache-2.0
// Translates a formula to postfix by recursive descent. Evaluation detects every overflow.
#include "kernels/height_formula.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "reference/error.hpp"

namespace assay {
namespace {

constexpr std::size_t kLongestFormula = 1000;
constexpr int kDeepest = 50;
constexpr std::int64_t kLongestRow = std::int64_t{1} << 34;

[[noreturn]] void refuse(const std::string& why) { throw InputError("height: " + why); }

enum class Step : char { number, V, add, subtract, multiply, divide, log2, min, max };
struct Instruction {
  Step step;
  std::int64_t number = 0;
};

/// a / b rounded up. b is not 0, and not -1 if a is the smallest integer.
std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  const std::int64_t q = a / b;
  return q + (a % b != 0 && (a < 0) == (b < 0));
}

class Postfix final : public HeightFormula {
 public:
  Postfix(std::string text, std::vector<Instruction> code) : text_(std::move(text)), code_(std::move(code)) {}

  std::int64_t at(std::int64_t V) const override {
    // Empty rows are never summed. The check `claim` refuses a value that cannot be computed (-1).
    std::vector<std::int64_t> stack;
    return V < 1 ? 0 : value(V, stack).value_or(-1);
  }
  std::string_view text() const override { return text_; }

  /// Empty on overflow, division by zero, or the logarithm of a number that is not positive. The memory of
  /// `stack` is used again by the next call.
  std::optional<std::int64_t> value(std::int64_t V, std::vector<std::int64_t>& stack) const {
    stack.clear();
    stack.reserve(code_.size());
    for (const Instruction& i : code_) {
      if (i.step == Step::number || i.step == Step::V) {
        stack.push_back(i.step == Step::V ? V : i.number);
        continue;
      }
      if (i.step == Step::log2) {
        if (stack.back() < 1) return {};
        stack.back() = std::bit_width(static_cast<std::uint64_t>(stack.back() - 1));
        continue;
      }
      const std::int64_t b = stack.back();
      stack.pop_back();
      std::int64_t& a = stack.back();
      bool overflow = false;
      switch (i.step) {
        case Step::add:
          overflow = __builtin_add_overflow(a, b, &a);
          break;
        case Step::subtract:
          overflow = __builtin_sub_overflow(a, b, &a);
          break;
        case Step::multiply:
          overflow = __builtin_mul_overflow(a, b, &a);
          break;
        case Step::divide:
          overflow = b == 0 || (b == -1 && a == INT64_MIN);
          if (!overflow) a = divide_up(a, b);
          break;
        case Step::min:
          a = std::min(a, b);
          break;
        default:
          a = std::max(a, b);
      }
      if (overflow) return {};
    }
    return stack.back();
  }

 private:
  std::string text_;
  std::vector<Instruction> code_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::vector<Instruction> parse() {
    sum(0);
    skip();
    if (at_ != text_.size()) refuse("an operator is missing after " + read());
    return std::move(code_);
  }

 private:
  void sum(int depth) {
    product(depth);
    for (char c; (c = peek()) == '+' || c == '-';) {
      ++at_;
      product(depth);
      emit(c == '+' ? Step::add : Step::subtract);
    }
  }
  void product(int depth) {
    factor(depth);
    for (char c; (c = peek()) == '*' || c == '/';) {
      ++at_;
      factor(depth);
      emit(c == '*' ? Step::multiply : Step::divide);
    }
  }
  void factor(int depth) {
    if (depth > kDeepest) refuse("parentheses are nested too deeply");
    const char c = peek();
    if (c >= '0' && c <= '9') return number();
    if (take("V")) return emit(Step::V);
    if (take("(")) {
      sum(depth + 1);
      return expect(")");
    }
    if (take("log2")) {
      expect("(");
      sum(depth + 1);
      expect(")");
      return emit(Step::log2);
    }
    for (const Step step : {Step::min, Step::max})
      if (take(step == Step::min ? "min" : "max")) {
        expect("(");
        sum(depth + 1);
        expect(",");
        do {
          sum(depth + 1);
          emit(step);
        } while (take(","));
        return expect(")");
      }
    refuse("a number, V, log2, min, max or a parenthesis is missing after " + read());
  }
  void number() {
    std::int64_t n = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, text_[at_] - '0', &n))
        refuse("a number is too large");
    code_.push_back({Step::number, n});
  }

  void emit(Step step) { code_.push_back({step}); }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || (text_[at_] >= '\t' && text_[at_] <= '\r'))) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(const char* token) {
    if (!take(token)) refuse(std::string("'") + token + "' is missing after " + read());
  }
  /// The end of the text read so far. It is printable and one line, because the parser stops at anything
  /// else.
  std::string read() const {
    std::string s(text_.substr(at_ > 40 ? at_ - 40 : 0, std::min<std::size_t>(at_, 40)));
    std::replace_if(
        s.begin(), s.end(), [](char c) { return c < ' '; }, ' ');
    return s.empty() ? "nothing" : "'" + s + "'";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Instruction> code_;
};

void try_at(const Postfix& f, std::int64_t V, std::vector<std::int64_t>& stack) {
  const std::optional<std::int64_t> h = f.value(V, stack);
  const std::string at = " at V = " + std::to_string(V);
  if (!h) refuse("a division by zero, a logarithm of 0 or an overflow" + at);
  if (*h < 0) refuse("it is negative" + at);
  if (*h > V + kSpareLevels)
    refuse("it is " + std::to_string(*h) + at + ": no sum of " + std::to_string(V) + " terms is that high");
}

}  // namespace

const HeightFormula& height_formula(std::string_view text) {
  // Kept until the process ends: claims are copied freely and refer to them.
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const Postfix>, std::less<>> formulas;
  const std::lock_guard lock(mutex);
  if (const auto known = formulas.find(text); known != formulas.end()) return *known->second;
  if (text.size() > kLongestFormula) refuse("the formula is longer than 1000 characters");
  auto f = std::make_unique<const Postfix>(std::string(text), Parser(text).parse());
  std::vector<std::int64_t> stack;
  for (std::int64_t V = 1; V <= 4096; ++V) try_at(*f, V, stack);
  for (std::int64_t V = 8192; V <= kLongestRow; V *= 2)
    for (const std::int64_t near : {V - 1, V, V + 1}) try_at(*f, near, stack);
  return *(formulas[std::string(text)] = std::move(f));
}

}  // namespace assay
