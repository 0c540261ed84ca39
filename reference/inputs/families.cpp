// SPDX-License-Identifier: Apache-2.0
// Ordinary families: finite rows of ordinary magnitude. They attack order, spread, ties and the quality of
// the sum. A family is one line of the table and the function that the line names.
#include "reference/inputs/families.hpp"

#include <numeric>
#include <vector>

namespace assay::family_tables {
namespace {

void normal_1(Row& r) { r.normal(); }
void normal_3(Row& r) { r.normal(0, 3); }
void normal_10(Row& r) { r.normal(0, 10); }
void shifted_1000(Row& r) { r.normal(1000); }

void uniform_80(Row& r) {
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, -80 * r.random.uniform());
}

void all_negative(Row& r) {
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, -0.25 - std::fabs(r.random.normal()));
}

// From 0 up, up to 0, through 0, and from 1 up: the same steps, rounded differently.
void ramp_1e4(Row& r) {
  const double last = static_cast<double>(r.V - 1);
  const double start[] = {0, -last, -last / 2, 1e4};
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, (start[r.which] + static_cast<double>(i)) / 1e4);
}

// Element i of the ascending ramp of all values of the dtype from 1.0 to `end`. If the row is longer than
// that list, each value is repeated equally often.
std::uint64_t ramp_bits(const Row& r, std::int64_t i, double end) {
  const std::uint64_t first = encode(r.dtype, 1.0);
  const std::uint64_t count = encode(r.dtype, end) - first + 1;
  const auto V = static_cast<std::uint64_t>(r.V), at = static_cast<std::uint64_t>(i);
  return first + (count >= V ? at : at * count / V);
}

// Case 0 ends at 32. Above that, 16-bit values are so far apart that only the last few of a long row would
// count. Case 1 uses all values.
void ramp_1ulp(Row& r) {
  const double end = r.which == 0 ? 32 : max_finite(r.dtype);
  for (std::int64_t i = 0; i < r.V; ++i) r.set_bits(i, ramp_bits(r, i, end));
}

void descending(Row& r) {
  constexpr double kStep[] = {1e-4, 0.05, 1};
  for (std::int64_t i = 0; i < r.V; ++i) {
    if (r.which == 3)
      r.set_bits(i, ramp_bits(r, r.V - 1 - i, 32));
    else
      r.set(i, -kStep[r.which] * static_cast<double>(i));
  }
}

// Steps on both sides of ln 256 = 5.545, the threshold of kernels that rescale lazily.
void staircase(Row& r) {
  constexpr double kStep[] = {0.35, 5.5, 5.6, 11.2};
  const std::int64_t width = r.which < 4 ? 32 : 256;
  const double step = kStep[r.which % 4], middle = static_cast<double>((r.V - 1) / width) / 2;
  for (std::int64_t i = 0; i < r.V; ++i) {
    const double level = step * (static_cast<double>(i / width) - middle);
    r.set(i, i % width == 0 ? level : level - 3 * r.random.uniform());
  }
}

void constant(Row& r) {
  constexpr double kValue[] = {0, 1, -1e3, -0.0, 11, 6e4, -6e4, 1e-3};
  r.fill(kValue[r.which]);
}

// Positions above V = 1025, in this order. First one for every residue modulo 256, so that every thread's
// slice has one; then 64 drawn by the seed. Then, ascending, the first 65, the last 65, and every multiple of
// 1024 with its neighbours; the very last position is V - 1.
constexpr std::int64_t kSlices = 256;
std::vector<std::int64_t> spike_positions(std::int64_t V, std::uint64_t seed) {
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < 65; ++i) edges.insert(edges.end(), {i, V - 1 - i});
  for (std::int64_t m = 1024; m - 1 < V; m += 1024) edges.insert(edges.end(), {m - 1, m, m + 1});
  std::erase_if(edges, [V](std::int64_t i) { return i >= V; });
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  std::vector<std::int64_t> all;
  Random random(mixed(seed) ^ static_cast<std::uint64_t>(V));
  for (std::int64_t q = 0; q < kSlices; ++q)
    all.push_back(q + kSlices * random.below((V - q + kSlices - 1) / kSlices));
  for (int i = 0; i < 64; ++i) all.push_back(random.below(V));
  all.insert(all.end(), edges.begin(), edges.end());
  return all;
}

// Row 0 has its spike at V - 1. Below V = 8192 the other rows follow the list, whose first 256 have every
// residue. From there on a report runs few rows, and they must spread over the list. They walk it in steps of
// about the golden ratio, coprime to its length, so that a full sweep visits every position once.
std::int64_t spike_position(const Row& r) {
  if (r.V <= 1025) return r.index % r.V;
  const auto list = spike_positions(r.V, r.seed);
  const auto rest = static_cast<std::int64_t>(list.size()) - 1;
  const std::int64_t k = r.index % (rest + 1);
  if (k == 0) return list.back();
  if (r.V < 8192) return list[static_cast<std::size_t>(k - 1)];
  std::int64_t stride = rest * 618 / 1000;
  while (std::gcd(stride, rest) != 1) ++stride;
  const auto start = static_cast<std::int64_t>(r.seed % static_cast<std::uint64_t>(rest));
  return list[static_cast<std::size_t>((start + (k - 1) * stride) % rest)];
}

// 100 nats apart: if the maximum misses the spike, exp overflows, while a smaller error could cancel. Both
// values are inside the domain of a kernel that subtracts no maximum.
void spike(Row& r) {
  r.fill(-40);
  r.set(spike_position(r), 60);
}

std::int64_t spike_rows(std::int64_t V, bool full) {
  if (V <= 1025) return V;
  if (full) return static_cast<std::int64_t>(spike_positions(V, 0).size());  // the same number for every seed
  return V < 8192 ? 1 + kSlices : V < 40000 ? 4 : 3;
}

// Zipf's law: the element of rank k has about -1.1 ln k. k is drawn instead of permuted.
void long_tail(Row& r) {
  for (std::int64_t i = 0; i < r.V; ++i) {
    const double rank = 1 + r.random.uniform() * static_cast<double>(r.V);
    r.set(i, 4 - 1.1 * natural_log(rank) + 0.7 * r.random.normal());
  }
  r.set(r.random.below(r.V), 11 + 3 * r.random.uniform());
}

// Softmax does not change under a shift. So the stride of the pattern (3 ... 59 modulo 61) depends on the row
// too.
void row_encoded(Row& r) {
  for (std::int64_t i = 0; i < r.V; ++i) {
    const std::int64_t phase = (i % 61 * (2 * (r.index % 29) + 3) + r.index) % 61;
    r.set(i, static_cast<double>(phase) / 8 - static_cast<double>(r.index % 50));
  }
}

void ties(Row& r) {
  constexpr double kZeros[] = {0.0, -0.0, -1, -2};
  constexpr double kFive[] = {3, 2.5, -0.0, 0.0, -7};
  for (std::int64_t i = 0; i < r.V; ++i) {
    switch (r.which) {
      case 0:
        r.set(i, kZeros[r.random.below(4)]);
        break;
      case 1:
        r.set(i, kFive[r.random.below(5)]);
        break;
      case 2:
        r.set(i, -static_cast<double>(i / 7 % 40) / 4);
        break;  // groups of seven
      default:
        r.set(i, std::floor(2 * r.random.normal()) / 2 + (i % 2 ? 0.0 : -0.0));  // coarse values
    }
  }
}

void two_valued(Row& r) {
  const double low[] = {-1, 0, -100, 1};
  const double high[] = {0, 17, 0, next_up(r.dtype, 1)};
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, r.random.below(3) == 0 ? high[r.which] : low[r.which]);
}

// 64 winners (the largest k), all in one part of the row: that part must keep every one of them.
void clustered_top(Row& r) {
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, std::min(3.0, r.random.normal()));
  const std::int64_t step[] = {1, 32, 256, 1024, -1};
  const std::int64_t s = step[r.which];
  const std::int64_t start = s < 0    ? r.V - 1
                             : s == 1 ? r.random.below(r.V)
                                      : r.random.below(std::min(s, r.V));
  for (std::int64_t i = start, n = 0; i >= 0 && i < r.V && n < 64; i += s, ++n)
    r.set(i, 6 + static_cast<double>(n * 37 % 64) / 16);
}

constexpr FamilyDef kOrdinary[] = {
    {{"normal_1", "N(0, 1): narrow enough that every term counts, so the quality of the sum shows.",
      FamilyKind::ordinary, trait::empty_rows},
     0,
     normal_1},
    {{"normal_3",
      "N(0, 3): terms ten nats below a share's maximum still count, so a sum that leaves them out shows."},
     0,
     normal_3},
    {{"normal_10", "N(0, 10): some 70 nats of spread, where the error of x - m dominates.",
      FamilyKind::ordinary, trait::wide},
     0,
     normal_10},
    {{"shifted_1000",
      "1000 + N(0, 1): an error relative to x instead of x - m, such as log2(e) products rounded apart."},
     0,
     shifted_1000},
    {{"uniform_80", "Uniform in [-80, 0]: the whole slope of exp, one value of x - m after another.",
      FamilyKind::ordinary, trait::wide},
     0,
     uniform_80},
    {{"all_negative", "Every logit is negative but near 0: a maximum or padding that starts at 0."},
     0,
     all_negative},
    {{"ramp_1e4",
      "Ascending by 1e-4: the running maximum moves at every element, so rescaling errors pile up.",
      FamilyKind::ordinary, trait::slow_rise},
     4,
     ramp_1e4},
    {{"ramp_1ulp", "Ascending by one ulp: rescaling by a factor next to 1, where a biased exp drifts.",
      FamilyKind::ordinary, trait::slow_rise},
     2,
     ramp_1ulp},
    {{"descending", "The maximum comes first: a rescale that is missing or inverted must not hide behind it.",
      FamilyKind::ordinary, trait::settled},
     4,
     descending},
    {{"staircase", "The running maximum rises in steps around ln 256: the threshold of lazy rescaling.",
      FamilyKind::ordinary, trait::late},
     8,
     staircase},
    {{"constant", "Every probability is 1/V exactly: a narrow accumulator stalls, a dropped tail shows.",
      FamilyKind::ordinary, trait::settled},
     8,
     constant},
    {{"spike", "One element 100 nats above the rest, at every position: no element may miss the maximum.",
      FamilyKind::ordinary, trait::late},
     0,
     spike,
     std::numeric_limits<std::int64_t>::max(),
     spike_rows},
    {{"long_tail", "A Zipf tail and one winner at any V: the shape of real logits where no real row is."},
     0,
     long_tail},
    {{"row_encoded", "Every row has a pattern of its own: rows swapped, repeated or read at a wrong pitch."},
     0,
     row_encoded},
    {{"ties", "Few distinct values and both zeros: ties across any top-k boundary, and +0 equal to -0.",
      FamilyKind::ordinary, trait::ties},
     4,
     ties},
    {{"two_valued",
      "Two values, up to 100 nats or down to one ulp apart: each output takes one of two values.",
      FamilyKind::ordinary, trait::ties},
     4,
     two_valued},
    {{"clustered_top", "The 64 largest share one slice of the row: a partition that keeps fewer than k."},
     5,
     clustered_top},
};

}  // namespace

std::span<const FamilyDef> ordinary_families() { return kOrdinary; }

}  // namespace assay::family_tables
