// SPDX-License-Identifier: Apache-2.0
// The types that are known by name, and the types that each role allows.
#include "kernels/adapter/entry/types.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/adapter/entry/names.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

struct NamedScalar {
  const char* spelling;
  Scalar scalar;
};
constexpr NamedScalar kScalars[] = {
    {"float", Scalar::f32},
    {"double", Scalar::f64},
    {"half", Scalar::f16},
    {"__half", Scalar::f16},
    {"nv_half", Scalar::f16},
    {"__nv_half", Scalar::f16},
    {"nv_bfloat16", Scalar::bf16},
    {"__nv_bfloat16", Scalar::bf16},
    {"int", Scalar::i32},
    {"int32_t", Scalar::i32},
    {"uint", Scalar::u32},
    {"uint32_t", Scalar::u32},
    {"int64_t", Scalar::i64},
    {"uint64_t", Scalar::u64},
    {"size_t", Scalar::u64},
    {"ssize_t", Scalar::i64},
    {"ptrdiff_t", Scalar::i64},
    {"int16_t", Scalar::i16},
    {"int8_t", Scalar::i8},
    {"uint8_t", Scalar::i8},
    {"byte", Scalar::i8},
    {"bool", Scalar::boolean},
    {"void", Scalar::nothing},
    {"cudaStream_t", Scalar::stream},
    {"CUstream", Scalar::stream},
    {"float2", Scalar::f32},
    {"float4", Scalar::f32},
    {"half2", Scalar::f16},
    {"__half2", Scalar::f16},
    {"nv_bfloat162", Scalar::bf16},
    {"__nv_bfloat162", Scalar::bf16},
    {"bf16", Scalar::bf16},
    {"bfloat16", Scalar::bf16},
    {"fp16", Scalar::f16},
    {"float16", Scalar::f16},
    {"float32", Scalar::f32},
    {"float32_t", Scalar::f32},
    {"dim_t", Scalar::own_integer},
    {"index_t", Scalar::own_integer},
    {"idx_t", Scalar::own_integer},
    {"IndexType", Scalar::own_integer},
    {"index_type", Scalar::own_integer},
    {"size_type", Scalar::own_integer},
    {"offset_t", Scalar::own_integer},
    {"len_t", Scalar::own_integer},
    {"ulong", Scalar::u64},
};

}  // namespace

bool is_integer_word(std::string_view w) {
  return w == "unsigned" || w == "signed" || w == "long" || w == "short" || w == "int" || w == "char";
}

Scalar scalar_of(const std::vector<std::string_view>& words) {
  if (words.size() == 1)
    for (const NamedScalar& s : kScalars)
      if (words[0] == s.spelling) return s.scalar;
  int longs = 0, shorts = 0, chars = 0, is_unsigned = 0;
  for (const std::string_view w : words) {
    if (!is_integer_word(w)) return Scalar::none;
    longs += w == "long";
    shorts += w == "short";
    chars += w == "char";
    is_unsigned += w == "unsigned";
  }
  if (chars) return Scalar::i8;
  if (shorts) return Scalar::i16;
  if (longs) return is_unsigned ? Scalar::u64 : Scalar::i64;
  return is_unsigned ? Scalar::u32 : Scalar::i32;
}

void check_role_type(const EntrySignature& s, const Parameter& p) {
  const auto refuse = [&](const Parameter& of, const std::string& why) { refuse_entry(s, of, why); };
  const auto one_of = [&](std::initializer_list<Scalar> all, const char* what) {
    if (std::find(all.begin(), all.end(), p.scalar) == all.end())
      refuse(p, std::string(name(p.role)) + " is " + what);
  };
  switch (p.role) {
    case Role::out:
    case Role::inout:
      if (p.read_only)
        refuse(p, "is const and cannot be written: --arg " + entry_handle(s, p) + "=in if it is the input");
      [[fallthrough]];
    case Role::in:
    case Role::gradients:
      one_of({Scalar::f16, Scalar::bf16, Scalar::f32, Scalar::f64, Scalar::nothing},
             "a pointer to half, bfloat16 or float");
      break;
    case Role::m:
    case Role::d:
      one_of({Scalar::f32}, "a pointer to float, one for each row");
      if (p.read_only) refuse(p, "is const and cannot be written");
      break;
    case Role::indices:
      one_of({Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64}, "a pointer to 32-bit or 64-bit integers");
      if (p.read_only) refuse(p, "is const and cannot be written");
      break;
    case Role::stream:
      one_of({Scalar::stream, Scalar::nothing}, "a cudaStream_t or a void*");
      break;
    case Role::scale:
      one_of({Scalar::f16, Scalar::bf16, Scalar::f32, Scalar::f64}, "a float, half or bfloat16");
      break;
    case Role::workspace:
      break;
    case Role::temperature:
      one_of({Scalar::f32, Scalar::f64}, "a float, or a pointer to float, one for each row");
      if (p.pointers > 0 && p.scalar != Scalar::f32) refuse(p, "temperatures are floats");
      break;
    case Role::bias:
    case Role::bias_row:
      one_of({Scalar::f16, Scalar::bf16, Scalar::f32}, "a pointer to half, bfloat16 or float");
      break;
    case Role::mask_keep:
    case Role::mask_drop:
      one_of({Scalar::boolean, Scalar::i8, Scalar::i32, Scalar::u32, Scalar::f16, Scalar::bf16, Scalar::f32},
             "a pointer to bool, bytes, 32-bit integers, half, bfloat16 or float");
      break;
    case Role::lengths:
      one_of({Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64}, "a pointer to 32-bit or 64-bit integers");
      break;
    default:
      if (p.role == Role::threshold || operand_of(p))
        one_of({Scalar::f32, Scalar::f64}, "a float");
      else if (!p.is_integer())
        refuse(p, std::string(name(p.role)) + " is an integer");
  }
}

std::string entry_place(const EntrySignature& s, const Parameter& p) {
  return std::to_string(&p - s.parameters.data() + 1);
}
std::string entry_handle(const EntrySignature& s, const Parameter& p) {
  return p.name.empty() ? entry_place(s, p) : p.name;
}

void refuse_entry(const EntrySignature& s, const Parameter& p, const std::string& why) {
  // For example "parameter 'block' (int)", or "parameter 3 (int, without a name)".
  throw InputError("--entry: parameter " +
                   (p.name.empty() ? entry_place(s, p) + " (" + p.type + ", without a name)"
                                   : "'" + p.name + "' (" + p.type + ")") +
                   ": " + why);
}

void ask_entry(const EntrySignature& s, const std::vector<const Parameter*>& all,
               const std::vector<Role>& open, const std::string& what) {
  const auto is = [&](std::size_t i, Role r) { return "--arg " + entry_handle(s, *all[i]) + "=" + name(r); };
  std::string which, words;
  for (std::size_t i = 0; i < all.size(); ++i) {
    which += (i == 0                ? ""
              : i + 1 == all.size() ? " and "
                                    : ", ") +
             (all[i]->name.empty() ? entry_place(s, *all[i]) : "'" + all[i]->name + "'") + " (" +
             all[i]->type + ")";
    if (open.size() == 1) words += (i == 0 ? "" : ", or ") + is(i, open[0]);
  }
  if (open.size() == 2 && all.size() == 2)
    words = is(0, open[0]) + " " + is(1, open[1]) + ", or " + is(0, open[1]) + " " + is(1, open[0]);
  else if (open.size() == 2)
    words = std::string("--arg NAME=") + name(open[0]) + " --arg NAME=" + name(open[1]) +
            ", and --arg NAME=VALUE for the others";
  throw InputError("--entry: which of " + which + " is " + what + "? " + words);
}

std::vector<const Parameter*> entry_undecided(const EntrySignature& s, bool pointers) {
  std::vector<const Parameter*> all;
  for (const Parameter& p : s.parameters)
    if (p.role == Role::none && (pointers ? p.pointers > 0 : p.is_integer())) all.push_back(&p);
  return all;
}

namespace {

bool is_open(const Parameter& p) { return p.role == Role::none && p.is_integer(); }
bool is_free(const EntrySignature& s, Role r) {
  return !s.has(r) && !(r == Role::rows ? s.one_row : s.fixed_V > 0);
}

/// Gives M, N and n the role rows or V, depending on which other parameters there are.
void single_letters(EntrySignature& s) {
  Parameter *N = nullptr, *n = nullptr, *M = nullptr;
  for (Parameter& p : s.parameters) {
    if (!is_open(p)) continue;
    if (p.name == "N") N = &p;
    if (p.name == "n") n = &p;
    if (p.name == "M" || p.name == "m") M = &p;
  }
  const bool rows = is_free(s, Role::rows), V = is_free(s, Role::V);
  // A matrix is M x N, but some write n x m. Only the usual order is accepted.
  if (M && (N || n) && !(N && n) && M < (N ? N : n) && rows && V) {
    M->role = Role::rows;
    (N ? N : n)->role = Role::V;
  } else if (N && n && rows && V) {
    N->role = Role::rows;
    n->role = Role::V;
  } else if (!(M && (N || n)) && rows != V) {
    for (Parameter* p : {M, N, n})
      if (p && is_free(s, rows ? Role::rows : Role::V) && (rows || p != M))
        p->role = rows ? Role::rows : Role::V;
  }
}

/// Heads and sequences: the number of rows is their product. It does not matter which parameter gets the
/// whole product, so one gets it and the others get 1.
void sequences(EntrySignature& s) {
  Parameter* sequence = nullptr;
  bool factors = false;
  for (Parameter& p : s.parameters) {
    if (!is_open(p)) continue;
    if (is_sequence(plain_name(p))) sequence = &p;
    factors |= is_row_factor(plain_name(p));
  }
  // In attention scores one seq_len is the row length and also a factor of the number of rows. That case is
  // left out.
  if (sequence && !factors && !s.has(Role::V) && !is_free(s, Role::rows)) {
    sequence->role = Role::V;
    sequence = nullptr;
  }
  if (!s.has(Role::V)) return;
  for (Parameter& p : s.parameters) {
    if (!is_open(p) || (&p != sequence && !is_row_factor(plain_name(p)))) continue;
    if (is_free(s, Role::rows))
      p.role = Role::rows;
    else
      set_literal(p, "1");
  }
}

/// Batches and heads of a causal kernel: their product is the number of squares. One parameter gets the whole
/// product, no matter which. T is the row length; N beside it is the number of squares, too.
void squares(EntrySignature& s) {
  bool by_sequence = false;
  for (Parameter& p : s.parameters)
    if (is_open(p) && (p.name == "T" || is_sequence(plain_name(p)))) {
      if (s.has(Role::V))
        set_literal(p, "V");
      else
        p.role = Role::V;
      by_sequence = true;
    }
  if (!s.has(Role::V)) return;
  bool told = s.has(Role::rows) || s.one_row;
  for (Parameter& p : s.parameters) {
    const bool count = is_square_count(plain_name(p)) || (by_sequence && p.name == "N");
    if (!is_open(p)) continue;
    if (!count) {
      // There are as many queries as keys.
      if (is_row_factor(plain_name(p))) set_literal(p, "V");
      continue;
    }
    set_literal(p, told ? "1" : "rows/V");
    told = true;
  }
}

/// Examples: causal_softmax, scaled_upper_triang_masked_softmax.
bool says_causal(const std::string& function) {
  return function.find("causal") != function.npos || function.find("Causal") != function.npos ||
         function.find("triang") != function.npos;
}

}  // namespace

void set_literal(Parameter& p, const std::string& text) {
  p.role = Role::literal;
  p.literal = text;
  // Other names belong to the file.
  bool sizes = false, others = false;
  for (const EntryToken& t : entry_tokens(text)) {
    const bool size = t.is("rows") || t.is("V") || t.is("k");
    sizes |= size;
    others |= t.kind == EntryToken::word && !size;
  }
  p.formula = sizes && !others && p.is_integer();
}

void find_lengths(EntrySignature& s) {
  if (s.causal) squares(s);
  single_letters(s);
  sequences(s);
  // One number without a name is left, and one role.
  std::vector<Parameter*> nameless;
  for (Parameter& p : s.parameters)
    if (is_open(p) && p.name.empty()) nameless.push_back(&p);
  if (nameless.size() == 1 && is_free(s, Role::rows) != is_free(s, Role::V))
    nameless[0]->role = is_free(s, Role::rows) ? Role::rows : Role::V;
  const int known = !is_free(s, Role::rows) + !is_free(s, Role::V);
  for (Parameter& p : s.parameters)
    if (is_open(p) && (is_count(plain_name(p)) ? known > 0 : may_be_count(plain_name(p)) && known == 2))
      set_literal(p, "rows*V");
}

bool knows_length(const EntrySignature& s, Role r) {
  if (!is_free(s, r)) return true;
  return s.has(r == Role::rows ? Role::V : Role::rows) &&
         std::any_of(s.parameters.begin(), s.parameters.end(), [&](const Parameter& p) {
           return p.formula && p.literal.find(name(r)) != std::string::npos;
         });
}

void need_lengths(const EntrySignature& s) {
  const bool rows = knows_length(s, Role::rows), V = knows_length(s, Role::V);
  if (rows && V) return;
  const std::vector<const Parameter*> all = entry_undecided(s, false);
  if (!s.causal && s.op == Op::softmax && says_causal(s.function) && !all.empty())
    throw InputError(
        "--entry: what is '" + all[0]->name +
        "'? Of a causal kernel it may be the number of squares, rows / V: " +
        "--declare causal=zeros or causal=lower says that it is one (accuracy/bounds/OPERANDS.md)");
  if (!rows && !V && all.size() == 1)
    refuse_entry(s, *all[0],
                 "is it the length of the one row that a call has? --arg " + entry_handle(s, *all[0]) +
                     "=V --arg rows=1 says so");
  if (!rows && !V && all.size() > 1)
    ask_entry(s, all, {Role::rows, Role::V}, "the number of rows, and which the length of a row");
  const Role open = rows ? Role::V : Role::rows;
  const char* const what = rows ? "the length of a row" : "the number of rows";
  if (all.size() > 1) ask_entry(s, all, {open}, what);
  if (all.size() == 1) {
    const std::string is = "--arg " + entry_handle(s, *all[0]) + "=";
    refuse_entry(
        s, *all[0],
        std::string("is it ") + what + "? " + is + name(open) + " says so; " + is +
            "'rows*V' says that it is the number of elements" +
            (s.causal && !rows ? "; " + is + "'rows/V' that it is the number of squares" : std::string()));
  }
  throw InputError(std::string("--entry: no parameter is ") + what + ": --arg NAME=" + name(open) +
                   " says which" +
                   (rows ? "; --arg V=4099 says that rows have that length, and no other"
                         : "; --arg rows=1 says that a call has one row: it is called for each"));
}

}  // namespace assay
