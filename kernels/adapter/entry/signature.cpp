// SPDX-License-Identifier: Apache-2.0
// Reads a declaration: its head, then its parameters one by one, then the limits that follow from them.
#include "kernels/adapter/entry/signature.hpp"

#include <algorithm>
#include <array>

#include "kernels/adapter/entry/names.hpp"
#include "kernels/adapter/entry/role_reader.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/entry/types.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

constexpr std::size_t kMostParameters = 64;

using EntryTokens = std::vector<EntryToken>;

[[noreturn]] void refuse_entry(const std::string& why) { throw InputError("--entry: " + why); }

bool any_of(const EntryToken& t, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return t.is(w); });
}
bool is_qualifier(const EntryToken& t) {
  return any_of(t, {"const", "volatile", "restrict", "__restrict", "__restrict__"});
}
/// Finds the tokens that stand for a type. In `int T`, T is a name, because a type comes before it.
std::vector<bool> type_parameters(const EntryTokens& t) {
  std::vector<bool> all(t.size());
  bool typed = false;  // true if a type was read since the last '(', ',' or '<'
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i].kind == EntryToken::word) {
      all[i] = !typed && any_of(t[i], {"T", "scalar_t"});
      typed |= !is_qualifier(t[i]) && !any_of(t[i], {"struct", "enum", "class", "typename", "extern",
                                                     "static", "inline", "constexpr", "std"});
    } else if (any_of(t[i], {"(", ",", "<", ">", ";"})) {
      typed = t[i].is(">");
    }
  }
  return all;
}

const char* spelling(Dtype t) {
  return t == Dtype::f16    ? "__half"
         : t == Dtype::bf16 ? "__nv_bfloat16"
         : t == Dtype::f64  ? "double"
                            : "float";
}

/// The first token at or after `from` that is `sign` and outside every kind of bracket, or `to` if there is
/// none.
std::size_t find_outside(const EntryTokens& t, std::size_t from, std::size_t to, std::string_view sign) {
  int depth = 0;
  for (std::size_t i = from; i < to; ++i) {
    if (depth == 0 && t[i].is(sign)) return i;
    if (any_of(t[i], {"(", "<", "[", "{"})) ++depth;
    if (any_of(t[i], {")", ">", "]", "}"}) && depth > 0) --depth;
  }
  return to;
}

/// Drops [[attributes]] and __attribute__((...)), which do not matter for a call.
EntryTokens without_attributes(const EntryTokens& t) {
  EntryTokens kept;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const bool standard = t[i].is("[") && i + 1 < t.size() && t[i + 1].is("[");
    const bool gnu = t[i].is("__attribute__") && i + 1 < t.size() && t[i + 1].is("(");
    if (!standard && !gnu) {
      kept.push_back(t[i]);
      continue;
    }
    const std::size_t open = gnu ? i + 1 : i;
    i = find_outside(t, open + 1, t.size(), gnu ? ")" : "]");
    if (i == t.size()) refuse_entry("an attribute is not closed");
  }
  return kept;
}

Parameter read_parameter(const EntryTokens& t, std::size_t from, std::size_t to, std::size_t place) {
  Parameter p;
  const std::string where = "parameter " + std::to_string(place) + ": ";
  const std::size_t all = to;
  to = find_outside(t, from, to, "=");  // a default argument
  if (to + 1 < all) p.initial = join_tokens(t, to + 1, all);
  std::vector<std::string_view> words;
  std::size_t end_of_type = from;
  for (std::size_t i = from; i < to; ++i) {
    const EntryToken& token = t[i];
    if (!p.name.empty()) {
      // Behind the name: the brackets of an array.
      if (!token.is("["))
        refuse_entry(where + in_quotes(join_tokens(t, from, to)) + " is not one type and one name");
      const std::size_t close = find_outside(t, i + 1, to, "]");
      if (close == to) refuse_entry(where + "a bracket is not closed");
      ++p.pointers;
      i = close;
      continue;
    }
    if (is_qualifier(token)) {
      if (token.is("const") && p.pointers == 0) p.read_only = true;
    } else if (token.is("*")) {
      ++p.pointers;
    } else if (token.is("&")) {
      if (i + 1 < to && t[i + 1].is("&")) refuse_entry(where + "'&&' cannot be given");
    } else if (any_of(token, {"struct", "enum", "class", "typename"})) {
      continue;
    } else if (token.is("::")) {
      if (words.size() != 1) continue;  // ::size_t
      if (words[0] != "std")
        refuse_entry(where + in_quotes(join_tokens(t, from, to)) + ": a type that is not known");
      words.clear();  // std::size_t
    } else if (token.kind == EntryToken::word) {
      const bool more = words.empty() || (is_integer_word(words.back()) && is_integer_word(token.spelling));
      if (more && p.pointers == 0)
        words.push_back(token.spelling);
      else
        p.name = token.spelling;
    } else if (token.is("[") && !words.empty()) {
      const std::size_t close = find_outside(t, i + 1, to, "]");
      if (close == to) refuse_entry(where + "a bracket is not closed");
      ++p.pointers;
      i = close;
    } else {
      refuse_entry(where + in_quotes(join_tokens(t, from, to)) + ": a type that is not known");
    }
    if (p.name.empty()) end_of_type = i + 1;
  }
  p.scalar = scalar_of(words);
  p.type = join_tokens(t, from, end_of_type);
  // A type of the file's own is allowed if the parameter has a name: its role, or a value, is asked for
  // later.
  const bool own = words.size() == 1 && !is_integer_word(words[0]) && !p.name.empty();
  if (words.empty() || (p.scalar == Scalar::none && !own))
    refuse_entry(
        where + in_quotes(join_tokens(t, from, to)) +
        ": a type that is not known (float, half, __half, __nv_bfloat16, int, int64_t, size_t, void*, "
        "cudaStream_t, ...)");
  if (p.pointers > 1)
    refuse_entry(where + in_quotes(join_tokens(t, from, to)) + ": a pointer to a pointer cannot be given");
  if (p.scalar == Scalar::nothing && p.pointers == 0) refuse_entry(where + "of type void");
  if (p.pointers == 0) p.read_only = false;
  for (const std::string_view w : words) p.base += (p.base.empty() ? "" : " ") + std::string(w);
  if (p.base == "byte") p.base = "std::byte";
  return p;
}

/// Reads what comes before the parameters: specifiers, the return type, the function's name.
void read_head(const EntryTokens& t, std::size_t to, EntrySignature& s) {
  std::size_t i = 0;
  while (i < to) {
    if (t[i].is("extern")) {
      i += i + 1 < to && t[i + 1].kind == EntryToken::text ? 2 : 1;
    } else if (t[i].is("template") && i + 1 < to && t[i + 1].is("<")) {
      i = find_outside(t, i + 2, to, ">") + 1;
    } else if (any_of(t[i], {"static", "inline", "constexpr", "__host__", "__forceinline__", "__inline__"})) {
      ++i;
    } else {
      break;
    }
  }
  if (i >= to) refuse_entry("no function name before '('");
  if (t[i].is("__global__"))
    refuse_entry("a __global__ function cannot be called: give the function that launches it");
  if (t[i].is("std") && i + 2 < to && t[i + 1].is("::")) i += 2;
  const EntryToken& returned = t[i++];
  if (any_of(returned,
             {"int", "cudaError_t", "int32_t", "cudaError", "CUresult", "cublasStatus_t", "cudnnStatus_t"}))
    s.returned = Returned::status;
  else if (returned.is("bool"))
    s.returned = Returned::success;
  else if (!returned.is("void"))
    refuse_entry(
        "it returns " + in_quotes(returned.spelling) +
        ": int and cudaError_t (0 is success) and bool (true is success) can be judged; say void where the "
        "value is none of these, as in "
        "'void softmax(const float* in, float* out, int rows, int V, cudaStream_t s)'");
  const std::size_t begin = i;
  bool wants_word = true;
  for (; i < to; ++i) {
    if (t[i].is("::")) {
      if (wants_word && i != begin) refuse_entry("a function name is missing after '::'");
      wants_word = true;
    } else if (t[i].is("<") && !wants_word) {
      const std::size_t close = find_outside(t, i + 1, to, ">");
      if (close == to) refuse_entry("a '<' is not closed");
      for (std::size_t j = i; j < close; ++j)
        if (t[j].kind == EntryToken::text || any_of(t[j], {";", "=", "[", "]", "{", "}"}))
          refuse_entry(in_quotes(t[j].spelling) + " cannot stand among template arguments");
      i = close;
    } else if (t[i].kind == EntryToken::word && wants_word) {
      wants_word = false;
    } else {
      refuse_entry(in_quotes(join_tokens(t, begin, to)) + " is no function name");
    }
  }
  if (wants_word) refuse_entry("no function name before '('");
  s.function = join_tokens(t, begin, to);
}

/// The type of an operand's elements, in the words of plugin.h.
const char* element_type(Scalar s, OperandHolds holds) {
  if (s == Scalar::f16) return "f16";
  if (s == Scalar::bf16) return "bf16";
  if (types_of(holds).empty()) return "";  // a float, or a double that is given one
  if (s == Scalar::f32) return "f32";
  if (s == Scalar::i64 || s == Scalar::u64) return "i64";
  return s == Scalar::i32 || s == Scalar::u32 ? "i32" : "u8";
}

}  // namespace

const Parameter* EntrySignature::find(Role r) const {
  const auto at =
      std::find_if(parameters.begin(), parameters.end(), [r](const Parameter& p) { return p.role == r; });
  return at == parameters.end() ? nullptr : &*at;
}

std::vector<EntryLimit> EntrySignature::limits() const {
  std::vector<EntryLimit> all;
  const auto add = [&](const char* word, std::string value) { all.push_back({word, std::move(value)}); };
  // An entry that does not get the pitches can only take dense rows.
  if (one_row) {
    // Each row is a call of its own, so the rows may lie anywhere.
  } else if (!has(Role::in_pitch) ||
             (!has(Role::out_pitch) && (op == Op::softmax || op == Op::log_softmax || keeps_a_set(op)))) {
    add("dense", "yes");
  }
  if (const Parameter* V = find(Role::V)) {
    if (V->scalar == Scalar::i32) add("max_V", "2147483647");
    if (V->scalar == Scalar::u32) add("max_V", "4294967295");
    if (V->scalar == Scalar::i16) add("max_V", "32767");
    if (V->scalar == Scalar::i8) add("max_V", "127");
  }
  if (has(Role::m) && has(Role::d) && op != Op::normalizer) add("normalizer", "yes");
  if (has(Role::inout)) add("in_place", "yes");
  if (fixed_V > 0) add("V_in", "{" + std::to_string(fixed_V) + "}");
  if (fixed_k > 0) add("max_k", std::to_string(fixed_k));
  return all;
}

Operands EntrySignature::operands() const {
  Operands o;
  for (const Parameter& p : parameters)
    if (const OperandInfo* operand = operand_of(p))
      add_operand(o, *operand, element_type(p.scalar, operand->holds));
  return o;
}

EntryArgument parse_entry_argument(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size())
    throw InputError("--arg " + in_quotes(text) +
                     ": name=value is needed, as in --arg N=rows or --arg block=256");
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

bool entry_is_template(std::string_view text) {
  const std::vector<bool> all = type_parameters(without_attributes(entry_tokens(text)));
  return std::find(all.begin(), all.end(), true) != all.end();
}

EntrySignature parse_entry(std::string_view text, const std::vector<EntryArgument>& arguments,
                           std::optional<Op> op, std::optional<Dtype> dtype, bool causal) {
  EntryTokens t = without_attributes(entry_tokens(text));
  std::size_t from = 0;
  // template <typename T> declares the type that the types below use.
  if (!t.empty() && t[0].is("template")) from = std::min(find_outside(t, 2, t.size(), ">") + 1, t.size());
  t.erase(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(from));
  const std::vector<bool> is_type = type_parameters(t);
  for (std::size_t i = 0; i < t.size(); ++i)
    if (is_type[i]) {
      if (!dtype)
        refuse_entry(in_quotes(t[i].spelling) +
                     " stands for a type: --types f16, bf16 or f32 says which, or write it out");
      t[i].spelling = spelling(*dtype);
    }
  while (!t.empty() && (t.back().is(";") || t.back().is("noexcept"))) t.pop_back();
  const std::size_t open = find_outside(t, 0, t.size(), "(");
  if (open == t.size())
    refuse_entry("no '(': a function's declaration is needed, as in 'void softmax(const float* in, ...)'");
  EntrySignature s;
  s.causal = causal;
  read_head(t, open, s);
  const std::size_t close = find_outside(t, open + 1, t.size(), ")");
  if (close == t.size()) refuse_entry("the parameters' ')' is missing");
  if (close + 1 != t.size())
    refuse_entry(in_quotes(join_tokens(t, close + 1, t.size())) + " after the parameters");
  for (std::size_t begin = open + 1; begin <= close;) {
    const std::size_t end = find_outside(t, begin, close, ",");
    if (begin == end)
      refuse_entry(s.parameters.empty() && end == close ? "it has no parameters"
                                                        : "a parameter is missing between commas");
    if (s.parameters.size() == kMostParameters)
      refuse_entry("more than " + std::to_string(kMostParameters) + " parameters");
    s.parameters.push_back(read_parameter(t, begin, end, s.parameters.size() + 1));
    for (std::size_t i = 0; i + 1 < s.parameters.size(); ++i)
      if (!s.parameters[i].name.empty() && s.parameters[i].name == s.parameters.back().name)
        refuse_entry("two parameters are called " + in_quotes(s.parameters[i].name));
    begin = end + 1;
  }
  assign_roles(s, arguments, op, dtype);
  return s;
}

bool fuzz_entry_signature(const std::uint8_t* bytes, std::size_t size) {
  // The first line is the entry. Every further line is an --arg.
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto lines = [&] {
    std::vector<std::string_view> all;
    for (std::size_t at = 0; at <= text.size() && all.size() < 16;) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      all.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return all;
  }();
  try {
    std::vector<EntryArgument> arguments;
    for (std::size_t i = 1; i < lines.size(); ++i) arguments.push_back(parse_entry_argument(lines[i]));
    const EntrySignature s =
        parse_entry(lines[0], arguments, {}, size % 2 ? std::optional(Dtype::f16) : std::nullopt);
    return !s.limits().empty() || !s.function.empty();
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace assay
