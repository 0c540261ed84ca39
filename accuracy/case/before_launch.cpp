// SPDX-License-Identifier: Apache-2.0
#include "accuracy/case/before_launch.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

namespace assay {
namespace {

/// So many elements are made at most; then they repeat. A launch of as many takes a millisecond or more.
constexpr std::int64_t kMostMade = std::int64_t{1} << 14;

std::atomic<std::uint64_t> run_seed{1};

/// Uniform in [0, 1).
float uniform(std::uint64_t word) { return static_cast<float>(word >> 40) * 0x1p-24f; }

/// The logits of another launch: each differs from that of this one by 0.05 to 0.8.
float other_logit(float x, std::uint64_t word) {
  const float by = 0.05f + 0.75f * uniform(word);
  return (word & 1) != 0 ? x + by : x - by;
}

/// The results of rows like these, but with other logits.
void add_result(std::vector<double>& all, const Problem& p, const std::vector<float>& x, std::uint64_t draw) {
  std::vector<float> z(x.size());
  float m = -std::numeric_limits<float>::infinity(), sum = 0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    z[j] = other_logit(x[j], drawn(draw, j));
    if (std::isfinite(z[j])) m = std::max(m, z[j]);
  }
  for (float& one : z) {
    one = std::isfinite(one) ? std::exp(one - m) : 0;
    sum += one;
  }
  if (!(sum > 0)) sum = 1;
  for (std::int64_t j = 0; j < p.out_columns(); ++j) {
    const float value = z[static_cast<std::size_t>(j) % z.size()] / sum;
    // An lse has one column, a log-softmax all: both are logarithms.
    const bool log = log_probabilities(p.op) || p.op == Op::lse;
    all.push_back(!log ? static_cast<double>(value)
                       : static_cast<double>(p.op == Op::lse ? m + std::log(sum) : std::log(value + 1e-30f)));
  }
}

}  // namespace

void set_seed_of_run(std::uint64_t seed) { run_seed = seed; }
std::uint64_t seed_of_run() { return run_seed; }
std::uint64_t turned_by_seed() { return (run_seed - 1) * 0xd1342543de82ef95u; }

std::uint64_t drawn_for(std::string_view what, std::int64_t V, std::int64_t rows, std::uint64_t seed) {
  std::uint64_t h = drawn(seed);
  for (const char c : what) h = drawn(h ^ static_cast<unsigned char>(c));
  return drawn(drawn(h ^ static_cast<std::uint64_t>(V)) ^ static_cast<std::uint64_t>(rows));
}

Stale stale_of(std::uint64_t of_case, std::uint64_t n) {
  // Any four launches have zeros among them, any eight all kinds.
  constexpr std::array kTurn = {Stale::mark, Stale::zeros, Stale::mark, Stale::result,
                                Stale::mark, Stale::zeros, Stale::mark, Stale::neighbours};
  return kTurn[(of_case + n) % kTurn.size()];
}

std::uint64_t drawn_nan(Dtype t, std::uint64_t draw) {
  struct Bits {
    std::uint64_t quiet;  // exponent and first bit of the mantissa
    int payload, sign;    // number of bits behind it; position of the sign
  };
  const auto of = [&]() -> Bits {
    switch (t) {
      case Dtype::f16:
        return {0x7e00, 9, 15};
      case Dtype::bf16:
        return {0x7fc0, 6, 15};
      case Dtype::f32:
        return {0x7fc00000, 22, 31};
      case Dtype::f64:
        break;
    }
    return {0x7ff8000000000000u, 51, 63};
  };
  const Bits b = of();
  // Neither 0 nor all ones: those two are what arithmetic makes.
  const std::uint64_t most = (std::uint64_t{1} << b.payload) - 2;
  return b.quiet | (1 + (draw >> 1) % most) | (draw & 1) << b.sign;
}

std::uint64_t drawn_nans(std::uint64_t draw) {
  return (0xffc1 + draw % 61) * 0x0001000100010001u;  // 0xffc1 to 0xfffd
}

std::uint64_t drawn_large(Dtype t, std::uint64_t draw) {
  switch (t) {
    case Dtype::f16:
      return 0x7bc0 | (draw & 0x3f);  // 63488 to 65504
    case Dtype::bf16:
      return 0x7000 | (draw & 0x7ff);
    case Dtype::f32:
      return 0x70000000 | (draw & 0x07ffffff);
    case Dtype::f64:
      break;
  }
  return 0x4600000000000000u | (draw & 0x00ffffffffffffffu);
}

std::uint64_t drawn_no_index(std::uint64_t draw) {
  constexpr std::uint64_t kTop = 0x4000000040000000u;  // 2^30 or more, or negative, in each half
  return draw | kTop;
}

std::vector<std::uint64_t> stale_values(Stale stale, const Problem& p, const Tensor& logits,
                                        std::uint64_t draw) {
  std::vector<double> all;
  const std::int64_t columns = std::max<std::int64_t>(1, p.out_columns());
  const std::int64_t rows =
      std::clamp<std::int64_t>(kMostMade / std::max(columns, p.V), 1, std::max<std::int64_t>(1, p.rows));
  const std::int64_t V = std::min(p.V, kMostMade);
  std::vector<float> x(static_cast<std::size_t>(V));
  for (std::int64_t r = 0; r < rows && static_cast<std::int64_t>(all.size()) < kMostMade; ++r) {
    // Another row's, where there are several.
    const std::int64_t other = (r + 1) % std::max<std::int64_t>(1, p.rows);
    for (std::int64_t j = 0; j < V; ++j)
      x[static_cast<std::size_t>(j)] = static_cast<float>(logits.at(other, j));
    if (stale == Stale::result) {
      add_result(all, p, x, drawn(draw, static_cast<std::uint64_t>(r)));
    } else {
      for (std::int64_t j = 0; j < std::min(columns, kMostMade); ++j)
        all.push_back(static_cast<double>(x[static_cast<std::size_t>(j % V)]));
    }
  }
  std::vector<std::uint64_t> bits(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    bits[i] = encode(p.out, all[i]);
    if (stale == Stale::neighbours) bits[i] ^= 1 + (drawn(draw, i) & 1);
  }
  return bits;
}

}  // namespace assay
