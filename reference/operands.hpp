// SPDX-License-Identifier: Apache-2.0
// The operands that a launch reads besides the logits x. The softmax is of
//
//   z = scale x / temperature + bias,   with -inf where a mask or a length leaves x out.
//
// An absent operand counts as neutral: scale and temperature 1, bias 0, nothing left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reference/formats.hpp"

namespace assay {

/// Bits of Operands::parts.
namespace operand {
inline constexpr std::uint32_t scale = 1;         // one number: z = scale x
inline constexpr std::uint32_t temperature = 2;   // one number: z = x / temperature
inline constexpr std::uint32_t temperatures = 4;  // f32[rows]: one for each row
inline constexpr std::uint32_t mask_keep = 8;     // rows x V: an element whose mask is 0 is left out
inline constexpr std::uint32_t mask_drop = 16;    // rows x V: an element whose mask is not 0 is left out
inline constexpr std::uint32_t bias = 32;         // rows x V: added to the logits
inline constexpr std::uint32_t bias_row = 64;     // V elements: added to every row
inline constexpr std::uint32_t lengths = 128;     // rows integers: columns from the length on are left out
inline constexpr std::uint32_t any_mask = mask_keep | mask_drop;
inline constexpr std::uint32_t any_bias = bias | bias_row;
/// The operands that have a buffer.
inline constexpr std::uint32_t buffers = temperatures | any_mask | any_bias | lengths;
}  // namespace operand

/// The type of a mask's elements.
enum class MaskType : std::uint8_t { u8, i32, f16, bf16, f32 };
constexpr std::size_t size_of(MaskType t) {
  return t == MaskType::u8 ? 1 : t == MaskType::f16 || t == MaskType::bf16 ? 2 : 4;
}

/// Which operands a kernel takes, and the types of their elements.
struct Operands {
  std::uint32_t parts = 0;  // bits of operand::
  MaskType mask = MaskType::u8;
  Dtype bias = Dtype::f32;
  Dtype scale = Dtype::f32;       // of the number `scale`: it is drawn as a value of this type
  std::uint8_t length_bytes = 4;  // 4 or 8

  constexpr bool has(std::uint32_t part) const { return (parts & part) != 0; }
  constexpr bool none() const { return parts == 0; }
};

/// For example "scale mask_keep:u8 bias:f16 lengths:i32": names in the order of operand::, with element
/// types.
std::string text_of(const Operands& o);
/// Parses the same text. Empty if it makes no sense: two masks, two kinds of bias or of temperature, an
/// unknown type.
std::optional<Operands> parse_operands(std::string_view text);

}  // namespace assay
