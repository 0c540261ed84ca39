// SPDX-License-Identifier: Apache-2.0
// The table of operands: one row for each. What else lists them (plugin.h, parts.h and OPERANDS.md) is held
// to it by reports/cli/list_test.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/problem.hpp"

namespace assay {

/// What an operand is: one number, or a buffer of floats, mask elements, values to add or integers.
enum class OperandHolds : std::uint8_t { number, floats, mask, bias, integers };

struct OperandInfo {
  std::uint32_t part;  // a bit of operand::
  const char* name;    // in plugin.h, and behind --arg NAME=
  OperandHolds holds;
  float Problem::*number;  // its value; null for a buffer
  bool positive;           // a number that must be above 0
  std::uint32_t rivals;    // a launch has at most one of it and these
  const char* names;       // plain names of the parameters that mean it
  const char* untyped;     // more names, for where the shape of a tensor is seen, as in Python
};

inline constexpr const char* kMaskNames =
    "mask attnmask attentionmask attrmask masks paddingmask padmask inputmask keymask maskdata "
    "softmaxmask srcmask qkmask keypaddingmask";

/// In the order of operand::. A mask's name does not say of which kind it is, so its author is asked. A
/// pointer called bias may also hold one row.
inline constexpr OperandInfo kOperandTable[] = {
    {operand::scale, "scale", OperandHolds::number, &Problem::scale, false, 0,
     "scale softmaxscale smscale alpha scaling scalefactor scalingfactor qkscale attnscale invtemperature "
     "inversetemperature invtemp",
     ""},
    {operand::temperature, "temperature", OperandHolds::number, &Problem::temperature, true,
     operand::temperatures, "temperature temp tau", ""},
    {operand::temperatures, "temperatures", OperandHolds::floats, nullptr, true, operand::temperature,
     "temperatures temps temperature", ""},
    {operand::mask_keep, "mask_keep", OperandHolds::mask, nullptr, false, operand::mask_drop, "", ""},
    {operand::mask_drop, "mask_drop", OperandHolds::mask, nullptr, false, operand::mask_keep, "", ""},
    {operand::bias, "bias", OperandHolds::bias, nullptr, false, operand::bias_row,
     "attnbias attentionbias additivemask addmask relbias relativebias positionbias posbias biasmatrix "
     "alibi",
     "bias"},
    {operand::bias_row, "bias_row", OperandHolds::bias, nullptr, false, operand::bias, "", "biasrow rowbias"},
    {operand::lengths, "lengths", OperandHolds::integers, nullptr, false, 0,
     "lengths lens seqlens seqlengths sequencelengths validlens validlengths validlen rowlengths rowlens "
     "kvlens contextlens actuallengths actualseqlens numvalid",
     ""},
};

/// The types that its elements may have, in the words of plugin.h. Empty: f32.
constexpr std::string_view types_of(OperandHolds holds) {
  switch (holds) {
    case OperandHolds::mask:
      return "u8 i32 f16 bf16 f32";
    case OperandHolds::bias:
      return "f16 bf16 f32";
    case OperandHolds::integers:
      return "i32 i64";
    default:
      return "";
  }
}

/// Adds an operand whose elements have the type. False if it has no such type, or cannot stand beside another
/// one.
bool add_operand(Operands& to, const OperandInfo& which, std::string_view type);

namespace operand {
inline constexpr std::uint32_t any_scale = scale | temperature | temperatures;
}

/// Which operands are judged for an op, as bits of operand::. A top-k may rank the stored logits, whose order
/// no positive factor changes. A mask or a bias does change it, and kernels differ in what they rank then.
constexpr std::uint32_t judged_operands(Op op) {
  if (selects(op)) return operand::any_scale;
  std::uint32_t all = 0;
  for (const OperandInfo& o : kOperandTable) all |= o.part;
  return from_logits(op) ? all : 0;
}

/// The bits of 1 in a mask's type.
constexpr std::uint64_t one_of(MaskType t) {
  return t == MaskType::f16 ? 0x3c00 : t == MaskType::bf16 ? 0x3f80 : t == MaskType::f32 ? 0x3f800000 : 1;
}

/// One buffer of operands: `elements` of `size` bytes, where every element has the `neutral` bits if it is to
/// change no result.
struct OperandBuffer {
  std::int64_t elements = 0;
  std::size_t size = 0;
  std::uint64_t neutral = 0;
};
/// The mask, the bias, the lengths and the temperatures. One that the problem lacks has a size of 0.
inline std::array<OperandBuffer, 4> operand_buffers(const Problem& p) {
  const Operands& o = p.operands;
  const std::int64_t all = p.rows * p.in_pitch;
  std::array<OperandBuffer, 4> b{};
  if (o.has(operand::any_mask)) b[0] = {all, size_of(o.mask), o.has(operand::mask_keep) ? one_of(o.mask) : 0};
  if (o.has(operand::any_bias)) b[1] = {o.has(operand::bias_row) ? p.V : all, size_of(o.bias), 0};
  if (o.has(operand::lengths)) b[2] = {p.rows, o.length_bytes, static_cast<std::uint64_t>(p.V)};
  if (o.has(operand::temperatures)) b[3] = {p.rows, sizeof(float), 0x3f800000};
  return b;
}

}  // namespace assay
