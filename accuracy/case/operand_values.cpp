// SPDX-License-Identifier: Apache-2.0
#include "accuracy/case/operand_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "accuracy/case/guarded.hpp"
#include "reference/operand_table.hpp"

namespace assay {
namespace {

constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

/// Twister the same numbers with every standard library.
class Twister {
 public:
  explicit Twister(std::uint64_t seed) : bits_(seed) {}
  /// 0 to n - 1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(n));
  }
  bool half() { return (bits_() & 1) != 0; }
  double uniform() { return (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); }

 private:
  std::mt19937_64 bits_;
};

void draw_keep(std::vector<std::uint8_t>& keep, std::int64_t rows, std::int64_t V, OperandDraw how,
               Twister& draws) {
  keep.assign(static_cast<std::size_t>(rows * V), how == OperandDraw::long_tails ? 1 : 0);
  for (std::int64_t r = 0; r < rows && V > 0; ++r) {
    std::uint8_t* const row = keep.data() + r * V;
    if (how == OperandDraw::ordinary)
      for (std::int64_t j = 0; j < V; ++j) row[j] = draws.half();
    if (how == OperandDraw::few_left)
      for (std::int64_t n = draws.below(3); n >= 0; --n) row[draws.half() ? V - 1 : draws.below(V)] = 1;
    if (how == OperandDraw::long_tails) {
      const std::int64_t left = 1 + draws.below(std::min<std::int64_t>(V, 40));
      if (r % 2 == 0)
        std::fill(row + (V - left) + (left == V ? 1 : 0), row + V, 0);
      else
        std::fill(row, row + left - (left == V ? 1 : 0), 0);
    }
    // A row with nothing left is decided by a policy, so it is not made here.
    if (std::find(row, row + V, 1) == row + V) row[draws.below(V)] = 1;
  }
}

void draw_lengths(OperandValues& v, std::int64_t rows, std::int64_t V, OperandDraw how, Twister& draws) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t most = std::max<std::int64_t>(V, 1);
    const std::int64_t n = how == OperandDraw::few_left ? 1 + draws.below(std::min<std::int64_t>(most, 3))
                           : how == OperandDraw::long_tails
                               ? most - draws.below(std::min<std::int64_t>(most, 33))
                               : 1 + draws.below(most);
    v.lengths.push_back(std::min(n, V));
    // What a mask keeps must lie before the row's end.
    if (v.keep.empty() || V == 0) continue;
    std::uint8_t* const row = v.keep.data() + r * V;
    if (std::find(row, row + n, 1) == row + n) row[draws.below(n)] = 1;
  }
}

/// How far apart the logits of two kernels may be if they round at any step (OPERANDS.md): q = scale x /
/// temperature, z = q + bias. A product, quotient or sum that is not needed adds no error.
double slack_of(const OperandValues& v, float temperature, double q, double z) {
  constexpr double u = 0x1p-24;
  const double steps = (v.scale != 1 ? 3 : 0) + (temperature != 1 ? 3 : 0);
  const double sum = v.bias.rows > 0 ? 2 : 0;
  return (steps * std::fabs(q) + sum * std::fabs(z)) * u * (1 + 0x1p-20) + 0x1p-148;
}

}  // namespace

OperandValues drawn_operands(const Operands& o, std::int64_t rows, std::int64_t V, std::uint64_t seed,
                             OperandDraw how, bool finite) {
  Twister draws(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(V) * 31 +
                static_cast<std::uint64_t>(rows));
  OperandValues v;
  // 1 / sqrt(128), and other values that are no power of two.
  if (o.has(operand::scale)) {
    Tensor held(o.scale, 1, 1);
    held.set(0, 0, static_cast<double>(how == OperandDraw::few_left ? 1.7f : 0.088388346f));
    v.scale = static_cast<float>(held.at(0, 0));
  }
  if (o.has(operand::temperature))
    v.temperature = how == OperandDraw::few_left ? 0.3f : how == OperandDraw::long_tails ? 17.0f : 1.3f;
  if (o.has(operand::temperatures))
    for (std::int64_t r = 0; r < rows; ++r) {
      // Usual ones; one of four is nearly greedy, or nearly uniform: 0.02 to 50.
      const bool usual = draws.below(4) != 0;
      const double u = draws.uniform();
      v.temperatures.push_back(static_cast<float>(usual ? 0.25 + 2 * u : 0.02 * std::exp(u * 7.824)));
    }
  if (o.has(operand::any_mask)) draw_keep(v.keep, rows, V, how, draws);
  if (o.has(operand::any_bias)) {
    v.bias = Tensor(o.bias, o.has(operand::bias_row) ? 1 : rows, V);
    for (std::int64_t r = 0; r < v.bias.rows; ++r)
      for (std::int64_t j = 0; j < V; ++j) v.bias.set(r, j, 2 * draws.normal());
    // An additive mask: -inf here and there, never everywhere.
    if (o.has(operand::bias) && !o.has(operand::any_mask) && how != OperandDraw::ordinary && !finite)
      for (std::int64_t r = 0; r < rows && V > 0; ++r) {
        // At a row's end; at its start, where sequences are padded on the left.
        const bool start = how == OperandDraw::long_tails && r % 2 == 1;
        const std::int64_t at = draws.below(V);
        for (std::int64_t j = start ? 0 : at + 1; j < (start ? at : V); ++j)
          v.bias.set(r, j, static_cast<double>(kMinusInf));
      }
  }
  if (o.has(operand::lengths)) draw_lengths(v, rows, V, how, draws);
  return v;
}

bool left_out(const OperandValues& v, std::int64_t row, std::int64_t column, std::int64_t V) {
  if (!v.keep.empty() && v.keep[static_cast<std::size_t>(row * V + column)] == 0) return true;
  return !v.lengths.empty() && column >= v.lengths[static_cast<std::size_t>(row)];
}

EffectiveLogits effective_logits(const Tensor& x, const OperandValues& v, LogitRounding rounding) {
  EffectiveLogits e;
  e.z = Tensor(Dtype::f32, x.rows, x.V);
  e.keeps_ties = v.bias.rows == 0;
  const bool changes = v.scale != 1 || v.temperature != 1 || !v.temperatures.empty() || v.bias.rows > 0;
  if (changes && rounding == LogitRounding::any) e.slack.assign(static_cast<std::size_t>(x.rows * x.V), 0);
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const float t = v.temperatures.empty() ? v.temperature : v.temperatures[static_cast<std::size_t>(r)];
    for (std::int64_t j = 0; j < x.V; ++j) {
      if (left_out(v, r, j, x.V)) {
        e.z.set(r, j, static_cast<double>(kMinusInf));
        continue;
      }
      const auto xi = static_cast<float>(x.at(r, j));
      const float b = v.bias.rows > 0 ? static_cast<float>(v.bias.at(v.bias.rows == 1 ? 0 : r, j)) : 0.0f;
      const float scaled = v.scale * xi;
      const float divided = t == 1 ? scaled : scaled / t;
      const float z = v.bias.rows == 0                           ? divided
                      : rounding == LogitRounding::fma && t == 1 ? std::fmaf(v.scale, xi, b)
                                                                 : divided + b;
      e.z.set(r, j, static_cast<double>(z));
      if (!e.slack.empty() && std::isfinite(z))
        e.slack[static_cast<std::size_t>(r * x.V + j)] =
            slack_of(v, t, static_cast<double>(divided), static_cast<double>(z));
    }
  }
  return e;
}

// The operands of a guarded launch: mask, bias, lengths and temperatures. They are laid out like the logits,
// and checked after the launch.

namespace {

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
      put(all, r * p.in_pitch + j, size, kept == keeps ? one_of(p.operands.mask) : 0);
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
