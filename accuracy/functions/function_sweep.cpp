// SPDX-License-Identifier: Apache-2.0
#include "accuracy/functions/function_sweep.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "accuracy/functions/function_judge_host.hpp"
#include "reference/hash/draws.hpp"
#include "reference/parallel.hpp"

namespace assay::functions {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 18;
constexpr std::size_t kMostUndecided = 1 << 20;
constexpr std::size_t kGrid = 1 << 14;

std::int64_t place_of_bits(const Rules& r, std::uint32_t b) {
  const std::uint32_t sign = std::uint32_t{1} << (r.bits - 1);
  return b & sign ? ~b & (sign | (sign - 1)) : b | sign;
}

struct Part {
  Stats stats;
  std::vector<Undecided> left;
  std::int64_t dropped = 0;
};

/// One chunk of a range; if `before`, it includes the result before the chunk.
void sweep_chunk(const Function& f, const Rules& r, const Range& chunk, bool before, Part& part) {
  alignas(64) std::uint32_t a[kBlock], b[kBlock], got[kBlock];
  Undecided left[kBlock];
  const auto result = [&](std::int64_t i) {
    return r.bits == 32 ? got[i] : reinterpret_cast<const std::uint16_t*>(got)[i];
  };
  std::int64_t previous_place = -1;
  std::uint32_t previous = 0;
  if (before) {
    previous_place = chunk.first - chunk.stride;
    fill_block(r, {previous_place, 1, 1}, a, b);
    f.evaluate(a, b, got, 1, nullptr);
    previous = static_cast<std::uint32_t>(result(0));
  }
  for (std::int64_t i = 0; i < chunk.count; i += kBlock) {
    const Range block{chunk.first + i * chunk.stride, std::min(kBlock, chunk.count - i), chunk.stride};
    fill_block(r, block, a, b);
    f.evaluate(a, b, got, block.count, nullptr);
    const std::int64_t appended =
        judge_block(r, block, a, b, got, previous_place, previous, part.stats, left);
    for (std::int64_t k = 0; k < appended; ++k)
      if (part.left.size() < kMostUndecided)
        part.left.push_back(left[k]);
      else
        ++part.dropped;
    previous_place = block.first + (block.count - 1) * block.stride;
    previous = static_cast<std::uint32_t>(result(block.count - 1));
  }
}

/// Any free thread takes the next chunk. Chunks are merged in order, so that a run repeats to the last bit.
SweepOutcome sweep_on_host(const Function& f, const Rules& r, const std::vector<Range>& ranges, int threads,
                           std::vector<Undecided>& left) {
  struct Chunk {
    Range range;
    bool before;
  };
  std::vector<Chunk> chunks;
  for (const Range& range : ranges)
    for (std::int64_t i = 0; i < range.count; i += kChunk)
      chunks.push_back(
          {{range.first + i * range.stride, std::min(kChunk, range.count - i), range.stride}, i > 0});
  std::vector<Part> parts(chunks.size());
  parallel_for(chunks.size(), threads,
               [&](std::size_t i) { sweep_chunk(f, r, chunks[i].range, chunks[i].before, parts[i]); });
  SweepOutcome o;
  for (Part& p : parts) {
    o.stats.merge(p.stats);
    o.undecided += p.dropped;
    left.insert(left.end(), p.left.begin(), p.left.end());
  }
  return o;
}

std::vector<float> make_grid() {
  // The mantissas for every exponent: powers of two and their neighbours, 1.5 and its neighbours, the
  // largest, and 22 in between.
  std::vector<std::uint32_t> mantissas = {0,        1,        2,        0x3fffff, 0x400000,
                                          0x400001, 0x7ffffd, 0x7ffffe, 0x7fffff, 0x3504f3};
  std::uint64_t z = 1;
  while (mantissas.size() < 32) {
    z = next_in_no_order(z);
    mantissas.push_back(static_cast<std::uint32_t>(z >> 41));
  }
  std::vector<float> v;
  const auto both = [&v](std::uint32_t bits) {
    v.push_back(std::bit_cast<float>(bits));
    v.push_back(std::bit_cast<float>(bits | 0x80000000u));
  };
  for (std::uint32_t e = 0; e < 255; ++e)
    for (std::uint32_t m : mantissas) both(e << 23 | m);  // e = 0: zero and subnormals
  both(0x7f800000u);
  // Subnormals next to every power of two fill the list. One or two NaNs are at its end.
  for (std::uint32_t beside = 2; v.size() < kGrid - 2; ++beside)
    for (std::uint32_t p = 1; p < 0x800000 && v.size() < kGrid - 2; p *= 2) both(p + beside);
  std::sort(v.begin(), v.end(),
            [](float x, float y) { return x < y || (x == y && std::signbit(x) && !std::signbit(y)); });
  while (v.size() < kGrid) v.push_back(std::numeric_limits<float>::quiet_NaN());
  return v;
}

}  // namespace

const std::vector<float>& grid_values() {
  static const std::vector<float> values = make_grid();
  return values;
}

Rules rules_of(const Function& f) {
  const Format format = assay::format(f.dtype);
  const DeclaredError& d = f.declared();
  Rules r;
  r.truth = f.truth;
  r.space = f.space;
  r.bits = format.bits;
  r.mantissa = format.mantissa_bits();
  r.emin = format.emin;
  r.emax = format.emax;
  if (f.space == Space::grid) {
    r.list = grid_values().data();
    r.list_size = static_cast<std::int64_t>(grid_values().size());
  }
  r.flush = f.flush;
  r.limit = d.limit();
  r.limit_subnormal = d.subnormal_limit();
  r.slope = d.slope > 0;
  r.floor = d.floor;
  if (d.absolute > 0) {
    r.absolute_lo = 0.5;
    r.absolute_hi = 2;
  }
  if (f.division) {
    r.divisor_lo = 0x1p-126;
    r.divisor_hi = 0x1p126;
  }
  // The range of softmax's exps. For |t| below half a unit the errors are those of 1 - small.
  if (f.truth == Truth::exp || f.truth == Truth::exp2) {
    r.mean_lo = -104;
    r.mean_hi = -0.5;
  } else {
    r.mean_lo = -HUGE_VAL;
    r.mean_hi = HUGE_VAL;
  }
  return r;
}

std::int64_t places_of(const Rules& r) {
  if (r.space == Space::grid) return r.list_size * r.list_size;
  return std::int64_t{1} << (r.space == Space::squares ? 32 : r.bits);
}

std::int64_t effective_stride(const Rules& r, std::int64_t stride) {
  return places_of(r) <= 1 << 16 ? 1 : stride;
}

std::vector<Range> ranges_of(const Rules& r, std::int64_t stride) {
  const std::int64_t places = places_of(r);
  stride = effective_stride(r, stride);
  std::vector<Range> ranges = {{0, (places + stride - 1) / stride, stride}};
  if (stride == 1 || r.space != Space::all) return ranges;
  // A sample includes every argument that rules and premises name: zeros, ones, infinities, both ends of the
  // normal and of the subnormal numbers, and their neighbours.
  const std::uint32_t one = static_cast<std::uint32_t>(-r.emin + 1) << r.mantissa;
  const std::uint32_t infinity = static_cast<std::uint32_t>(r.emax - r.emin + 2) << r.mantissa;
  const std::uint32_t sign = std::uint32_t{1} << (r.bits - 1);
  for (std::uint32_t b : {0u, one, infinity, 1u << r.mantissa})
    for (std::uint32_t s : {0u, sign}) ranges.push_back({place_of_bits(r, b | s) - 2, 5, 1});
  return ranges;
}

Sample sample_at(const Rules& r, std::int64_t place, std::uint32_t got) {
  const Arguments x = arguments_of(r, place);
  return {place, argument_value(r, x.a), argument_value(r, x.b), got, value_of_bits(r, got)};
}

#if !defined(ASSAY_WITH_CUDA)
SweepOutcome sweep_on_device(const Function&, Rules, const std::vector<Range>&, std::vector<Undecided>&) {
  throw std::logic_error("this build has no CUDA side");
}
#endif

SweepOutcome sweep(const Function& f, const SweepOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const Rules r = rules_of(f);
  const std::vector<Range> ranges = ranges_of(r, options.stride);
  std::vector<Undecided> left;
  SweepOutcome o = f.backend == Backend::cuda ? sweep_on_device(f, r, ranges, left)
                                              : sweep_on_host(f, r, ranges, options.threads, left);
  for (const Undecided& u : left) {
    const Sample x = sample_at(r, u.place, u.got);
    const Judged j = decide_by_mpfr(r, x);
    if (j.decided) {
      enter_decided(o.stats, r, x, j);
      ++o.decided_by_mpfr;
    } else {
      ++o.undecided;
    }
  }
  o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return o;
}

}  // namespace assay::functions
