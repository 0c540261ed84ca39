// SPDX-License-Identifier: Apache-2.0
#include "reference/operands.hpp"

#include <algorithm>
#include <array>

#include "reference/operand_table.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

constexpr std::array<const char*, 5> kMaskTypes = {"u8", "i32", "f16", "bf16", "f32"};

std::string type_of(const Operands& o, const OperandInfo& of) {
  switch (of.holds) {
    case OperandHolds::mask:
      return std::string(":") + kMaskTypes[static_cast<std::size_t>(o.mask)];
    case OperandHolds::bias:
      return std::string(":") + name(o.bias);
    case OperandHolds::integers:
      return o.length_bytes == 8 ? ":i64" : ":i32";
    default:
      return of.part == operand::scale && o.scale != Dtype::f32 ? std::string(":") + name(o.scale)
                                                                : std::string();
  }
}

}  // namespace

bool add_operand(Operands& to, const OperandInfo& which, std::string_view type) {
  // A scale may be a half, because it is drawn as one.
  const bool half = which.part == operand::scale && (type == "f16" || type == "bf16");
  const std::string_view known = types_of(which.holds);
  if (to.has(which.part | which.rivals) || !(known.empty() ? half || type.empty() : is_word_of(known, type)))
    return false;
  to.parts |= which.part;
  if (which.holds == OperandHolds::mask)
    to.mask = static_cast<MaskType>(std::ranges::find(kMaskTypes, type) - kMaskTypes.begin());
  if (which.holds == OperandHolds::bias) to.bias = *parse_dtype(type);
  if (which.holds == OperandHolds::integers) to.length_bytes = type == "i64" ? 8 : 4;
  if (half) to.scale = *parse_dtype(type);
  return true;
}

std::string text_of(const Operands& o) {
  std::string s;
  for (const OperandInfo& one : kOperandTable)
    if (o.has(one.part)) s += (s.empty() ? "" : " ") + std::string(one.name) + type_of(o, one);
  return s;
}

std::optional<Operands> parse_operands(std::string_view text) {
  Operands o;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = std::min(word.find(':'), word.size());
    const auto* const one = std::ranges::find(kOperandTable, word.substr(0, colon), &OperandInfo::name);
    if (one == std::end(kOperandTable) ||
        !add_operand(o, *one, word.substr(std::min(colon + 1, word.size()))))
      return std::nullopt;
  }
  return o;
}

}  // namespace assay
