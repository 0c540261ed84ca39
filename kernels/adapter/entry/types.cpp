// SPDX-License-Identifier: Apache-2.0
// The types that are known by name, and the types that each role allows.
#include "kernels/adapter/entry/types.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/adapter/entry/names.hpp"
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

}  // namespace assay
