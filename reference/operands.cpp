// SPDX-License-Identifier: Apache-2.0
#include "reference/operands.hpp"

#include <array>

namespace assay {
namespace {

struct Named {
  std::uint32_t part;
  const char* name;
};
constexpr std::array<Named, 8> kNames = {{{operand::scale, "scale"},
                                          {operand::temperature, "temperature"},
                                          {operand::temperatures, "temperatures"},
                                          {operand::mask_keep, "mask_keep"},
                                          {operand::mask_drop, "mask_drop"},
                                          {operand::bias, "bias"},
                                          {operand::bias_row, "bias_row"},
                                          {operand::lengths, "lengths"}}};
constexpr std::array<const char*, 5> kMaskTypes = {"u8", "i32", "f16", "bf16", "f32"};

/// Sets the type of the operand's elements. False if the operand has no such type.
bool set_type(Operands& o, std::uint32_t part, std::string_view type) {
  if (part & operand::any_mask) {
    for (std::size_t i = 0; i < kMaskTypes.size(); ++i)
      if (type == kMaskTypes[i]) return o.mask = static_cast<MaskType>(i), true;
    return false;
  }
  if (part & operand::any_bias) {
    const auto t = parse_dtype(type);
    if (!t || !can_judge(*t)) return false;
    return o.bias = *t, true;
  }
  if (part & operand::lengths) {
    if (type != "i32" && type != "i64") return false;
    return o.length_bytes = type == "i64" ? 8 : 4, true;
  }
  if (part == operand::scale && !type.empty()) {
    const auto t = parse_dtype(type);
    if (t != Dtype::f16 && t != Dtype::bf16) return false;
    return o.scale = *t, true;
  }
  return type.empty();
}

std::string type_of(const Operands& o, std::uint32_t part) {
  if (part & operand::any_mask) return std::string(":") + kMaskTypes[static_cast<std::size_t>(o.mask)];
  if (part & operand::any_bias) return std::string(":") + name(o.bias);
  if (part == operand::scale && o.scale != Dtype::f32) return std::string(":") + name(o.scale);
  if (part & operand::lengths) return o.length_bytes == 8 ? ":i64" : ":i32";
  return {};
}

}  // namespace

std::string text_of(const Operands& o) {
  std::string s;
  for (const Named& n : kNames)
    if (o.has(n.part)) s += (s.empty() ? "" : " ") + std::string(n.name) + type_of(o, n.part);
  return s;
}

std::optional<Operands> parse_operands(std::string_view text) {
  Operands o;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = std::min(word.find(':'), word.size());
    std::uint32_t part = 0;
    for (const Named& n : kNames)
      if (word.substr(0, colon) == n.name) part = n.part;
    const std::string_view type = word.substr(std::min(colon + 1, word.size()));
    if (part == 0 || o.has(part) || !set_type(o, part, type)) return std::nullopt;
    o.parts |= part;
  }
  const auto both = [&](std::uint32_t a, std::uint32_t b) { return o.has(a) && o.has(b); };
  if (both(operand::mask_keep, operand::mask_drop) || both(operand::bias, operand::bias_row) ||
      both(operand::temperature, operand::temperatures))
    return std::nullopt;
  return o;
}

}  // namespace assay
