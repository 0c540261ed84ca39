// SPDX-License-Identifier: Apache-2.0
// Reads the text of a declaration, combines the meaning of its words, and writes it back.
#include "kernels/declaration.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "kernels/declaration_words.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

using declaring::kWords;
using declaring::refuse;
using declaring::Word;
using S = std::string;
using Text = std::string_view;

constexpr std::size_t kLongestDeclaration = 1 << 14;

/// Suggests what an unknown word may have meant: the nearest word if one is near, otherwise all words.
S meant(Text word) {
  std::vector<S> known;
  for (const Word& w : kWords) known.emplace_back(w.word);
  if (const S nearest = nearest_word(word, known); !nearest.empty())
    for (const Word& w : kWords)
      if (w.word == nearest) return "is " + nearest + " meant (" + w.values + ")?";
  S all = "the words are ";
  for (const S& w : known) all += (&w == known.data() ? "" : ", ") + w;
  return all;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
bool is_word(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Reads the pairs of a text one by one. A value ends at ';', or at white space before the next "word=", so
/// that a formula may contain blanks.
class Pairs {
 public:
  explicit Pairs(Text text) : text_(text) {}

  bool next(Text& word, Text& value) {
    while (at_ < text_.size() && (is_space(text_[at_]) || text_[at_] == ';')) ++at_;
    if (at_ == text_.size()) return false;
    const std::size_t equals = assignment(at_);
    if (equals == Text::npos)
      refuse(in_quotes(text_.substr(at_, text_.find(';', at_) - at_)), "is no word=value");
    std::size_t end = at_;
    while (is_word(text_[end])) ++end;
    word = text_.substr(at_, end - at_);
    std::size_t from = equals + 1;
    for (at_ = from; at_ < text_.size() && text_[at_] != ';'; ++at_)
      if (is_space(text_[at_]) && assignment(at_ + 1) != Text::npos) break;
    std::size_t to = at_;
    while (from < to && is_space(text_[from])) ++from;
    while (from < to && is_space(text_[to - 1])) --to;
    value = text_.substr(from, to - from);
    return true;
  }

 private:
  /// Position of the '=' if a "word =" begins at `i`.
  std::size_t assignment(std::size_t i) const {
    const std::size_t begin = i;
    while (i < text_.size() && is_word(text_[i])) ++i;
    if (i == begin) return Text::npos;
    while (i < text_.size() && is_space(text_[i])) ++i;
    return i < text_.size() && text_[i] == '=' ? i : Text::npos;
  }

  Text text_;
  std::size_t at_ = 0;
};

/// Sets the undeclared terms that algorithm=naive implies, and refuses pairs of values that no arithmetic
/// has.
void settle(Variant& v, const std::set<Text>& given) {
  Claim& c = v.claim;
  if (c.shift == Shift::none && !given.contains("algorithm") && given.contains("shift"))
    c.algorithm = Algorithm::naive;
  if (c.algorithm != Algorithm::naive && given.contains("algorithm") && !given.contains("shift") &&
      c.shift == Shift::none)
    c.shift = Shift::subtract;
  if (c.algorithm == Algorithm::naive && (given.contains("algorithm") || given.contains("shift"))) {
    if (!given.contains("shift")) c.shift = Shift::none;
    if (c.shift != Shift::none) refuse("shift", S(name(c.shift)) + " is not what algorithm=naive does");
    if (given.contains("normalise") && c.normalise == Normalise::kept)
      refuse("normalise", "algorithm=naive has no older maximum to keep");
    c.normalise = Normalise::recomputed;
    if (!given.contains("pos_inf")) c.policy.pos_inf = PosInfRows::inf_only;
  }
  if (c.shift == Shift::none && c.algorithm != Algorithm::naive)
    refuse("shift", S("none is not what algorithm=") + name(c.algorithm) + " does");
  if (c.rescale_threshold > 0 && c.algorithm != Algorithm::online)
    refuse("rescale_threshold", S("algorithm=") + name(c.algorithm) + " rescales nothing");
  if (c.numerators == Numerators::output) {
    // Stored exps are relative to the row's maximum, and at most 1.
    if (given.contains("normalise") && c.normalise == Normalise::kept)
      refuse("numerators", "output is not what normalise=kept does");
    if (c.algorithm == Algorithm::naive || c.rescale_threshold > 0)
      refuse("numerators", "output needs exps of x - m, which are at most 1");
    c.normalise = Normalise::recomputed;
  }
  if (v.limits.max_V > 0 && v.limits.min_V > v.limits.max_V)
    refuse("min_V", std::to_string(v.limits.min_V) + " exceeds max_V=" + std::to_string(v.limits.max_V));
  const Limits& l = v.limits;
  const auto none = [](std::int64_t least, std::int64_t most, std::int64_t multiple) {
    return most > 0 && (std::max<std::int64_t>(least, 1) + multiple - 1) / multiple * multiple > most;
  };
  if (none(l.min_V, l.max_V, l.V_multiple)) refuse("V_multiple", "no row length is left");
  if (none(l.min_rows, l.max_rows, l.rows_multiple)) refuse("rows_multiple", "no number of rows is left");
  if (l.max_rows > 0 && l.min_rows > l.max_rows)
    refuse("min_rows", std::to_string(l.min_rows) + " exceeds max_rows=" + std::to_string(l.max_rows));
  for (int i = 0; i < l.V_in.count; ++i) {
    const std::int64_t length = l.V_in.all[static_cast<std::size_t>(i)];
    if (length < l.min_V || (l.max_V > 0 && length > l.max_V) || length % l.V_multiple != 0)
      refuse("V_in", std::to_string(length) + " is not what min_V, max_V and V_multiple allow");
  }
  const bool narrow = c.internals != Internals::f32;
  if (c.exp == Exp::half && !narrow) refuse("exp", "half needs internals=f16 or bf16");
  if ((c.exp == Exp::fast || c.exp == Exp::exp2_fma) && narrow)
    refuse("exp", S(name(c.exp)) + " is of f32, internals are " + name(c.internals));
  if (c.exp == Exp::exp2_fma && c.shift != Shift::subtract)
    refuse("exp", S("exp2_fma rounds its own shift: shift=") + name(c.shift) + " does not go with it");
}

}  // namespace

void apply_declaration(std::string_view text, Variant& v) {
  if (text.size() > kLongestDeclaration) throw InputError("declaration: longer than 16384 characters");
  Variant changed = v;
  std::set<Text> given;
  Pairs pairs(text);
  for (Text word, value; pairs.next(word, value);) {
    const auto known =
        std::find_if(kWords.begin(), kWords.end(), [&](const Word& w) { return word == w.word; });
    if (known == kWords.end()) refuse(in_quotes(word), "is no word of a declaration: " + meant(word));
    if (!given.insert(known->word).second) refuse(word, "is given twice");
    if (value.empty()) refuse(word, S("has no value: ") + known->values);
    try {
      known->set(known->word, value, changed);
    } catch (const InputError& e) {
      // The error of a formula names its word already.
      throw InputError(Text(e.what()).starts_with("declaration: ") ? e.what()
                                                                   : S("declaration: ") + e.what());
    }
  }
  settle(changed, given);
  // These words say how a kernel is called, not how it computes. Alone they leave the claim undeclared.
  static const std::set<Text> kCalls = {
      "normalizer", "max_V", "min_V",        "min_rows", "max_rows",  "rows_multiple",
      "V_multiple", "V_in",  "max_elements", "max_abs",  "alignment", "dense",
      "finite",     "max_k", "k_up_to_V",    "stream",   "in_place",  "all_neg_inf",
      "pos_inf",    "nan",   "causal",       "order"};
  for (const Text word : given)
    if (!kCalls.contains(word)) changed.declared = true;
  v = std::move(changed);
}

std::string declared_value(std::string_view text, std::string_view word) {
  Pairs pairs(text);
  for (Text one, value; pairs.next(one, value);)
    if (one == word) return S(value);
  return {};
}

void refuse_idle_words(const Variant& v) {
  if (v.claim.causal != Causal::no && v.op != Op::softmax)
    refuse("causal", S("is judged only for a softmax; the operation is ") + name(v.op));
  if (v.claim.epsilon > 0 && keeps_a_set(v.op)) refuse("epsilon", S("is not judged for ") + name(v.op));
  if (v.claim.select == Select::probs && (v.op == Op::topk_softmax || v.op == Op::log_softmax_topk))
    refuse("select",
           S("probs is not judged for ") + name(v.op) + ": which elements it takes is decided by the logits");
  if (v.claim.numerators != Numerators::output) return;
  if (v.op != Op::softmax) refuse("numerators", S("output is of a softmax; the operation is ") + name(v.op));
  const Internals internals = v.claim.internals;
  const Dtype arithmetic = internals == Internals::f32   ? Dtype::f32
                           : internals == Internals::f16 ? Dtype::f16
                                                         : Dtype::bf16;
  if (!(unit_roundoff(v.out()) > unit_roundoff(arithmetic)))
    refuse("numerators",
           S("the outputs are ") + name(v.out()) + ", no narrower than the arithmetic: leave the word out");
}

std::string declaration_words() {
  S s;
  for (const Word& w : kWords) {
    const S head = S(w.word) + "=" + w.values;
    s += "  " + head + S(head.size() < 44 ? 44 - head.size() : 1, ' ') + w.meaning + "\n";
  }
  return s;
}

std::string declaration_of(const Variant& v) {
  Variant nothing;
  nothing.claim = undeclared_claim(v.op);
  nothing.writes_normalizer = false;
  if (v.backend == Backend::plugin) nothing.limits = undeclared_limits();
  // Leaves out what `naive` implies.
  if (v.claim.algorithm == Algorithm::naive) {
    nothing.claim.shift = Shift::none;
    nothing.claim.normalise = Normalise::recomputed;
    nothing.claim.policy.pos_inf = PosInfRows::inf_only;
  }
  if (v.claim.numerators == Numerators::output) nothing.claim.normalise = Normalise::recomputed;
  S s;
  for (const Word& w : kWords) {
    const S value = w.get(v);
    if (value == w.get(nothing) || value.empty()) continue;
    s += (s.empty() ? "" : "; ") + S(w.word) + "=" + value;
  }
  return s;
}

}  // namespace assay
