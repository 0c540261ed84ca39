// SPDX-License-Identifier: Apache-2.0
// The table of a declaration's words, and the readers of their values.
#include "kernels/declaration_words.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "kernels/formula.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay::declaring {

void refuse(std::string_view word, const std::string& why) {
  throw InputError("declaration: " + std::string(word) + ": " + why);
}

namespace {

/// Reads one of the names of an enumeration, spelled as name() does.
template <class Enum, std::size_t n>
Enum one_of(std::string_view word, std::string_view value, const std::array<Enum, n>& all) {
  std::string names;
  for (const Enum e : all) {
    if (value == name(e)) return e;
    names += std::string(names.empty() ? "" : ", ") + name(e);
  }
  refuse(word, in_quotes(value) + " is none of " + names);
}

bool yes_or_no(std::string_view word, std::string_view value) {
  if (value == "yes" || value == "no") return value == "yes";
  refuse(word, in_quotes(value) + " is neither yes nor no");
}
const char* yes_or_no(bool b) { return b ? "yes" : "no"; }

std::int64_t integer(std::string_view word, std::string_view value, std::int64_t least, std::int64_t most) {
  std::int64_t n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error != std::errc() || end != value.data() + value.size() || n < least || n > most)
    refuse(word,
           in_quotes(value) + " is no integer from " + std::to_string(least) + " to " + std::to_string(most));
  return n;
}

double nats(std::string_view word, std::string_view value) {
  // Above 80, a partial sum of one term may overflow.
  double x = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
  if (error != std::errc() || end != value.data() + value.size() || !(x >= 0 && x <= 80))
    refuse(word, in_quotes(value) + " is no number of nats from 0 to 80");
  return x;
}
double added(std::string_view word, std::string_view value) {
  double x = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
  if (error != std::errc() || end != value.data() + value.size() || !(x >= 0 && x <= 0.01))
    refuse(word, in_quotes(value) + " is no number from 0 to 0.01");
  return x;
}
double magnitude(std::string_view word, std::string_view value) {
  double x = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), x);
  if (error != std::errc() || end != value.data() + value.size() || !(x >= 1 && x <= 1e300))
    refuse(word, in_quotes(value) + " is no number from 1 to 1e300");
  return x;
}
/// Reads "{64, 128, 1024}", with or without the braces.
RowLengths lengths(std::string_view word, std::string_view value) {
  if (value.starts_with('{') && value.ends_with('}')) value = value.substr(1, value.size() - 2);
  std::set<std::int64_t> all;
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t end = std::min(value.find(',', at), value.size());
    std::string_view one = value.substr(at, end - at);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    all.insert(integer(word, one, 1, std::int64_t{1} << 40));
    at = end + 1;
  }
  RowLengths l;
  if (all.size() > RowLengths::kMost)
    refuse(word, "more than " + std::to_string(RowLengths::kMost) + " lengths");
  for (const std::int64_t one : all) l.all[static_cast<std::size_t>(l.count++)] = one;
  return l;
}
std::string text_of(const RowLengths& l) {
  std::string s;
  for (int i = 0; i < l.count; ++i)
    s += (i == 0 ? "{" : ", ") + std::to_string(l.all[static_cast<std::size_t>(i)]);
  return s.empty() ? s : s + "}";
}
std::string shortest(double x) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), x).ptr};
}

/// "1e-6", the way people write it, not "1e-06".
std::string written(double x) {
  std::string s = shortest(x);
  if (const std::size_t at = s.find("e-0"); at != std::string::npos) s.erase(at + 2, 1);
  return s;
}

/// The outputs' type, by the word `output` or by its name.
Numerators numerators_of(std::string_view word, std::string_view value, const Variant& v) {
  const bool type = value == name(Dtype::f16) || value == name(Dtype::bf16);
  const bool narrow = v.out() == Dtype::f16 || v.out() == Dtype::bf16;
  if (type && narrow && value != name(v.out()))
    refuse(word, in_quotes(value) + " is not the outputs' type, " + name(v.out()) +
                     "; numerators=output is either");
  return type ? Numerators::output
              : one_of(word, value, std::array{Numerators::arithmetic, Numerators::output});
}

using V = Variant;
using S = std::string;
using Text = std::string_view;

}  // namespace

// clang-format off
constexpr std::array<Word, 40> kWords = {{
    {"algorithm", "naive | safe | online", "subtracts no maximum; the row's maximum; a running one",
     [](Text w, Text s, V& v) { v.claim.algorithm = one_of(w, s, std::array{Algorithm::naive, Algorithm::safe, Algorithm::online}); },
     [](const V& v) { return S(name(v.claim.algorithm)); }},
    {"shift", "none | subtract | any", "exp(x); exp(fl(x - m)); x - m rounded otherwise, to a relative u",
     [](Text w, Text s, V& v) { v.claim.shift = one_of(w, s, std::array{Shift::none, Shift::subtract, Shift::any}); },
     [](const V& v) { return S(name(v.claim.shift)); }},
    {"exp", "accurate | fast | half | exp2_fma", "expf; __expf or exp2f((x - m) * log2e); hexp; exp2f(fma(x, log2e, -m * log2e))",
     [](Text w, Text s, V& v) { v.claim.exp = one_of(w, s, std::array{Exp::accurate, Exp::fast, Exp::half, Exp::exp2_fma}); },
     [](const V& v) { return S(name(v.claim.exp)); }},
    {"division", "ieee | approximate | reciprocal", "correctly rounded; __fdividef; times one correctly rounded reciprocal a row",
     [](Text w, Text s, V& v) { v.claim.division = one_of(w, s, std::array{Division::ieee, Division::approximate, Division::reciprocal}); },
     [](const V& v) { return S(name(v.claim.division)); }},
    {"normalise", "recomputed | kept", "output exps taken with the row's maximum, or with an older one and rescaled",
     [](Text w, Text s, V& v) { v.claim.normalise = one_of(w, s, std::array{Normalise::recomputed, Normalise::kept}); },
     [](const V& v) { return S(name(v.claim.normalise)); }},
    {"internals", "f32 | f16 | bf16", "the type all arithmetic is done in",
     [](Text w, Text s, V& v) { v.claim.internals = one_of(w, s, std::array{Internals::f32, Internals::f16, Internals::bf16}); },
     [](const V& v) { return S(name(v.claim.internals)); }},
    {"log_form", "shifted | absorb | any", "log-softmax as (x - m) - log d, as x - lse, or either",
     [](Text w, Text s, V& v) { v.claim.log_form = one_of(w, s, std::array{LogForm::shifted, LogForm::absorb, LogForm::any}); },
     [](const V& v) { return S(name(v.claim.log_form)); }},
    {"rescale_threshold", "nats, 0 to 80", "an online sum is rescaled only when the maximum has grown by this much",
     [](Text w, Text s, V& v) { v.claim.rescale_threshold = nats(w, s); },
     [](const V& v) { return shortest(v.claim.rescale_threshold); }},
    {"epsilon", "0 to 0.01: 1e-6", "added to the sum before the division: exp(x - m) / (d + epsilon)",
     [](Text w, Text s, V& v) { v.claim.epsilon = added(w, s); },
     [](const V& v) { return written(v.claim.epsilon); }},
    {"numerators", "arithmetic | output", "what exps are stored in before the division: output, or f16, bf16: the outputs' type",
     [](Text w, Text s, V& v) { v.claim.numerators = numerators_of(w, s, v); },
     [](const V& v) { return S(name(v.claim.numerators)); }},
    {"height", "a formula of V", "additions on the longest path to the sum: V, V/256+13; log2 and / round up, min, max",
     [](Text, Text s, V& v) { v.claim.height = height_formula(s), v.claim.any_height = false; },
     [](const V& v) { return S(v.claim.height.text()); }},
    {"logits", "any | each | fma", "scale x / temperature + bias: rounded in any way; after every operation; the last two as one fma",
     [](Text w, Text s, V& v) { v.claim.logits = one_of(w, s, std::array{LogitRounding::any, LogitRounding::each, LogitRounding::fma}); },
     [](const V& v) { return S(name(v.claim.logits)); }},
    {"causal", "no | zeros | lower", "rows are whole squares, row r has columns 0 to r mod V; behind them: zeros, or whatever is there",
     [](Text w, Text s, V& v) { v.claim.causal = one_of(w, s, std::array{Causal::no, Causal::zeros, Causal::lower}); },
     [](const V& v) { return S(name(v.claim.causal)); }},
    {"ftz", "yes | no", "results below the smallest normal number may be 0",
     [](Text w, Text s, V& v) { v.claim.ftz = yes_or_no(w, s); },
     [](const V& v) { return S(yes_or_no(v.claim.ftz)); }},
    {"determinism", "not_guaranteed | run_to_run | gpu_to_gpu", "the same bits in every launch",
     [](Text w, Text s, V& v) { v.claim.determinism = one_of(w, s, std::array{Determinism::not_guaranteed, Determinism::run_to_run, Determinism::gpu_to_gpu}); },
     [](const V& v) { return S(name(v.claim.determinism)); }},
    {"ties", "smaller_index | larger_index | unspecified", "which of equal logits top-k takes first",
     [](Text w, Text s, V& v) { v.claim.ties = one_of(w, s, std::array{Ties::smaller_index, Ties::larger_index, Ties::unspecified}); },
     [](const V& v) { return S(name(v.claim.ties)); }},
    {"order", "sorted | any", "the slots of top-k: the largest first, or its k elements in any order",
     [](Text w, Text s, V& v) { v.claim.order = one_of(w, s, std::array{SlotOrder::sorted, SlotOrder::any}); },
     [](const V& v) { return S(name(v.claim.order)); }},
    {"select", "logits | probs", "what top-k ranks by",
     [](Text w, Text s, V& v) { v.claim.select = one_of(w, s, std::array{Select::logits, Select::probs}); },
     [](const V& v) { return S(name(v.claim.select)); }},
    {"all_neg_inf", "nan | zero | any", "a row of nothing but -inf; any: not promised",
     [](Text w, Text s, V& v) { v.claim.policy.all_neg_inf = one_of(w, s, std::array{NegInfRows::nan, NegInfRows::zero, NegInfRows::any}); },
     [](const V& v) { return S(name(v.claim.policy.all_neg_inf)); }},
    {"pos_inf", "nan | inf_only | any", "a row with +inf: NaN, or NaN there and 0 elsewhere (an lse: +inf, as undeclared); any: not promised",
     [](Text w, Text s, V& v) { v.claim.policy.pos_inf = one_of(w, s, std::array{PosInfRows::nan, PosInfRows::inf_only, PosInfRows::any}); },
     [](const V& v) { return S(name(v.claim.policy.pos_inf)); }},
    {"nan", "nan | any", "a row with a NaN among its logits: NaN; any: not promised",
     [](Text w, Text s, V& v) { v.claim.policy.nan = one_of(w, s, std::array{NanRows::nan, NanRows::any}); },
     [](const V& v) { return S(name(v.claim.policy.nan)); }},
    {"nan_order", "first | last | any | ignored", "where top-k puts NaN; ignored: nowhere, slots left over hold index -1",
     [](Text w, Text s, V& v) { v.claim.policy.nan_order = one_of(w, s, std::array{NanOrder::first, NanOrder::last, NanOrder::any, NanOrder::ignored}); },
     [](const V& v) { return S(name(v.claim.policy.nan_order)); }},
    {"in_place", "yes | no", "outputs may lie where the logits are",
     [](Text w, Text s, V& v) { v.claim.in_place = yes_or_no(w, s); },
     [](const V& v) { return S(yes_or_no(v.claim.in_place)); }},
    {"batch_invariant", "yes | no", "a row's bits do not depend on the other rows",
     [](Text w, Text s, V& v) { v.claim.batch_invariant = yes_or_no(w, s); },
     [](const V& v) { return S(yes_or_no(v.claim.batch_invariant)); }},
    {"normalizer", "yes | no", "writes m and d beside its outputs",
     [](Text w, Text s, V& v) { v.writes_normalizer = yes_or_no(w, s); },
     [](const V& v) { return S(yes_or_no(v.writes_normalizer)); }},
    {"max_V", "1 or more", "longest row it is made for",
     [](Text w, Text s, V& v) { v.limits.max_V = integer(w, s, 1, std::int64_t{1} << 40); },
     [](const V& v) { return std::to_string(v.limits.max_V); }},
    {"min_V", "0 or more", "shortest row it is made for; undeclared: 1, what an empty row gives is recorded",
     [](Text w, Text s, V& v) { v.limits.min_V = integer(w, s, 0, std::int64_t{1} << 40); },
     [](const V& v) { return std::to_string(v.limits.min_V); }},
    {"min_rows", "0 or more", "fewest rows of a launch; undeclared: 1, what no rows give is recorded",
     [](Text w, Text s, V& v) { v.limits.min_rows = integer(w, s, 0, std::int64_t{1} << 40); },
     [](const V& v) { return std::to_string(v.limits.min_rows); }},
    {"max_rows", "1 or more", "most rows of a launch",
     [](Text w, Text s, V& v) { v.limits.max_rows = integer(w, s, 1, std::int64_t{1} << 40); },
     [](const V& v) { return std::to_string(v.limits.max_rows); }},
    {"rows_multiple", "1 or more", "the number of rows is a multiple of this",
     [](Text w, Text s, V& v) { v.limits.rows_multiple = integer(w, s, 1, 1 << 30); },
     [](const V& v) { return std::to_string(v.limits.rows_multiple); }},
    {"V_in", "lengths: 64, 128, 1024", "the only row lengths, at most 32 of them",
     [](Text w, Text s, V& v) { v.limits.V_in = lengths(w, s); },
     [](const V& v) { return text_of(v.limits.V_in); }},
    {"max_elements", "1 or more", "rows x V is at most this",
     [](Text w, Text s, V& v) { v.limits.max_elements = integer(w, s, 1, std::int64_t{1} << 60); },
     [](const V& v) { return std::to_string(v.limits.max_elements); }},
    {"max_abs", "1 or more: 1e20", "finite logits are at most this in size",
     [](Text w, Text s, V& v) { v.limits.max_abs = magnitude(w, s); },
     [](const V& v) { return shortest(v.limits.max_abs); }},
    {"V_multiple", "1 or more", "V is a multiple of this",
     [](Text w, Text s, V& v) { v.limits.V_multiple = integer(w, s, 1, 1 << 30); },
     [](const V& v) { return std::to_string(v.limits.V_multiple); }},
    {"alignment", "bytes: 1, 2, 4 ... 256", "every row starts at a multiple of it",
     [](Text w, Text s, V& v) {
       v.limits.alignment = integer(w, s, 1, 256);
       if (v.limits.alignment & (v.limits.alignment - 1)) refuse(w, in_quotes(s) + " is no power of two");
     },
     [](const V& v) { return std::to_string(v.limits.alignment); }},
    {"dense", "yes | no", "rows lie V apart, without gaps",
     [](Text w, Text s, V& v) { v.limits.dense = yes_or_no(w, s); },
     [](const V& v) { return S(yes_or_no(v.limits.dense)); }},
    {"stream", "given | default", "works on the stream of the call, or on the default one",
     [](Text w, Text s, V& v) {
       if (s != "given" && s != "default") refuse(w, in_quotes(s) + " is neither given nor default");
       v.own_stream = s == "given";
     },
     [](const V& v) { return S(v.own_stream ? "given" : "default"); }},
    {"finite", "yes | no", "finite logits only",
     [](Text w, Text s, V& v) { v.limits.finite = yes_or_no(w, s); },
     [](const V& v) { return S(yes_or_no(v.limits.finite)); }},
    {"k_up_to_V", "yes | no", "k of top-k is at most V: no slot is ever left empty",
     [](Text w, Text s, V& v) { v.limits.k_up_to_V = yes_or_no(w, s); },
     [](const V& v) { return S(yes_or_no(v.limits.k_up_to_V)); }},
    {"max_k", "1 or more", "largest k of top-k",
     [](Text w, Text s, V& v) { v.max_k = static_cast<int>(integer(w, s, 1, INT32_MAX)); },
     [](const V& v) { return std::to_string(v.max_k); }},
}};
// clang-format on

}  // namespace assay::declaring
