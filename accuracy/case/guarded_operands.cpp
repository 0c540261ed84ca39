// SPDX-License-Identifier: Apache-2.0
// The operands of a guarded launch: mask, bias, lengths and temperatures. They are laid out like the logits,
// and checked after the launch.
#include <cstring>
#include <limits>

#include "accuracy/case/guarded.hpp"

namespace assay {
namespace {

std::uint64_t element_of(MaskType t, bool set) {
  switch (t) {
    case MaskType::f16:
      return set ? encode(Dtype::f16, 1) : 0;
    case MaskType::bf16:
      return set ? encode(Dtype::bf16, 1) : 0;
    case MaskType::f32:
      return set ? encode(Dtype::f32, 1) : 0;
    case MaskType::u8:
    case MaskType::i32:
      return set ? 1 : 0;
  }
  return 0;
}

/// Rows of `columns` elements, `pitch` apart. Every byte of a gap is 0xff: NaN in floats, set in a mask.
std::vector<std::byte> matrix(std::int64_t rows, std::int64_t columns, std::int64_t pitch,
                              std::size_t element) {
  const std::int64_t elements = rows == 0 ? 0 : (rows - 1) * pitch + columns;
  return std::vector<std::byte>(static_cast<std::size_t>(elements) * element, std::byte{0xff});
}
void put(std::vector<std::byte>& to, std::int64_t at, std::size_t element, std::uint64_t bits) {
  std::memcpy(to.data() + static_cast<std::size_t>(at) * element, &bits, element);
}

std::vector<std::byte> mask_bytes(const Problem& p, const OperandValues& v) {
  const std::size_t size = size_of(p.operands.mask);
  std::vector<std::byte> all = matrix(p.rows, p.V, p.in_pitch, size);
  const bool keeps = p.operands.has(operand::mask_keep);
  for (std::int64_t r = 0; r < p.rows; ++r)
    for (std::int64_t j = 0; j < p.V; ++j) {
      const bool kept = v.keep.empty() || v.keep[static_cast<std::size_t>(r * p.V + j)] != 0;
      put(all, r * p.in_pitch + j, size, element_of(p.operands.mask, kept == keeps));
    }
  return all;
}

std::vector<std::byte> bias_bytes(const Problem& p, const OperandValues& v) {
  const std::int64_t rows = p.operands.has(operand::bias_row) ? (p.rows > 0 ? 1 : 0) : p.rows;
  const std::size_t size = size_of(p.operands.bias);
  std::vector<std::byte> all = matrix(rows, p.V, p.in_pitch, size);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < p.V; ++j)
      put(all, r * p.in_pitch + j, size, v.bias.rows > 0 ? load_bits(v.bias.dtype, v.bias.row(r), j) : 0);
  return all;
}

std::vector<std::byte> lengths_bytes(const Problem& p, const OperandValues& v) {
  std::vector<std::byte> all = matrix(p.rows, 1, 1, p.operands.length_bytes);
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const std::int64_t n = v.lengths.empty() ? p.V : v.lengths[static_cast<std::size_t>(r)];
    put(all, r, p.operands.length_bytes, static_cast<std::uint64_t>(n));
  }
  return all;
}

std::vector<std::byte> temperature_bytes(const Problem& p, const OperandValues& v) {
  std::vector<std::byte> all = matrix(p.rows, 1, 1, sizeof(float));
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float t = v.temperatures.empty() ? 1.0f : v.temperatures[static_cast<std::size_t>(r)];
    std::memcpy(all.data() + static_cast<std::size_t>(r) * sizeof t, &t, sizeof t);
  }
  return all;
}

constexpr std::array<const char*, 4> kOperandNames = {"mask", "bias", "lengths", "temperatures"};
/// The bytes around an operand. Read by mistake, they change every result.
constexpr std::uint64_t kBeside = ~std::uint64_t{0};

}  // namespace

void GuardedLaunch::make_operands(const OperandValues& v) {
  Problem& p = problem_;
  p.scale = v.scale;
  p.temperature = v.temperature;
  const auto make = [&](std::size_t n, Image& image, std::size_t element, std::vector<std::byte> bytes) {
    const auto offset = static_cast<std::size_t>(layout_.offset) * element;
    image = Image(bytes.size(), n < 2 ? offset : 0, layout_.guard);
    fill(image, element, kBeside, kBeside);
    if (!bytes.empty()) std::memcpy(image.payload(), bytes.data(), bytes.size());
    given_[n] = std::move(bytes);
  };
  const Operands& o = p.operands;
  if (o.has(operand::any_mask)) make(0, images_.mask, size_of(o.mask), mask_bytes(p, v));
  if (o.has(operand::any_bias)) make(1, images_.bias, size_of(o.bias), bias_bytes(p, v));
  if (o.has(operand::lengths)) make(2, images_.lengths, o.length_bytes, lengths_bytes(p, v));
  if (o.has(operand::temperatures)) make(3, images_.temperatures, sizeof(float), temperature_bytes(p, v));
}

void GuardedLaunch::inspect_operands(Tally& tally) const {
  const std::array<const Image*, 4> all = {&images_.mask, &images_.bias, &images_.lengths,
                                           &images_.temperatures};
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Image& image = *all[n];
    if (image.empty()) continue;
    judge_guard(tally, image, 1, kBeside, kOperandNames[n]);
    const bool same =
        given_[n].empty() || std::memcmp(image.payload(), given_[n].data(), given_[n].size()) == 0;
    if (!tally.require(Check::inputs, same) && tally.first(Check::inputs))
      tally.at(Check::inputs).detail = std::string("the ") + kOperandNames[n] + " changed";
  }
}

}  // namespace assay
