// SPDX-License-Identifier: Apache-2.0
#include "kernels/neutral_operands.hpp"

#include <cstring>

namespace assay {
namespace {

std::uint64_t one_of(MaskType t) {
  return t == MaskType::f16 ? 0x3c00 : t == MaskType::bf16 ? 0x3f80 : t == MaskType::f32 ? 0x3f800000 : 1;
}

Image filled(std::int64_t elements, std::size_t size, std::uint64_t bits, std::size_t guard) {
  Image image(static_cast<std::size_t>(elements) * size, 0, guard);
  std::memset(image.data(), 0xff, image.size());
  for (std::int64_t i = 0; i < elements; ++i)
    std::memcpy(image.payload() + static_cast<std::size_t>(i) * size, &bits, size);
  return image;
}

}  // namespace

void add_neutral_operands(Images& images, const Problem& p, std::size_t guard) {
  const Operands& o = p.operands;
  const std::int64_t all = p.rows * p.in_pitch;
  if (o.has(operand::any_mask))
    images.mask = filled(all, size_of(o.mask), o.has(operand::mask_keep) ? one_of(o.mask) : 0, guard);
  if (o.has(operand::any_bias))
    images.bias = filled(o.has(operand::bias_row) ? p.V : all, size_of(o.bias), 0, guard);
  if (o.has(operand::lengths))
    images.lengths = filled(p.rows, o.length_bytes, static_cast<std::uint64_t>(p.V), guard);
  if (o.has(operand::temperatures)) images.temperatures = filled(p.rows, sizeof(float), 0x3f800000, guard);
}

}  // namespace assay
