// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "fuzz/genome_element.hpp"

namespace assay::fuzz {
namespace {

// Sizes at which kernels change their behaviour: powers of two (vectors, warps, blocks) and their neighbours.
constexpr std::array<std::int64_t, 16> kUnits = {1,  2,   4,   8,   16,  31,  32,   33,
                                                 64, 127, 128, 255, 256, 512, 1000, 1024};
constexpr std::array<double, 24> kOffsets = {0,    -0.0,  1,      -1,    -5,    11,   -40,   60,
                                             88.5, -88.5, -103.5, 100,   -1e3,  1e3,  1e4,   -6e4,
                                             -1e5, 6.5e4, 1e-3,   1e-30, -1e30, 3e38, -3e38, 16777216};
constexpr std::array<double, 12> kSpreads = {0, 1e-4, 0.01, 0.3, 1, 3, 10, 30, 80, 200, 1e4, 1e30};
constexpr std::array<double, 16> kGaps = {1e-7, 1e-4,      -1e-4, 0.01, 0.5, -0.5, 1,   5.5451774,
                                          11,   17.328679, 20,    -20,  60,  90,   104, 1e5};
constexpr std::array<double, 6> kGrids = {0x1p-10, 0x1p-4, 0.25, 1, 8, 64};

double nudged(double x, MutationRandom& random) {
  switch (random.below(5)) {
    case 0:
      return x * std::ldexp(1.0, static_cast<int>(random.below(9)) - 4);
    case 1:
      return x * (0.5 + random.uniform());
    case 2:
      return -x;
    case 3:
      return x + (random.uniform() - 0.5) * 4;
    default:
      return std::round(x);
  }
}

constexpr std::int64_t kLong = 8192;      // longer rows are rare: one takes as long as hundreds of others
constexpr std::int64_t kLongIsRare = 64;  // one row in this many

// Functions, because an argument is drawn before the body draws, with every compiler.
std::int64_t beside(std::int64_t n, std::int64_t by, MutationRandom& random) {
  return n + random.below(2 * by + 1) - by;
}
std::int64_t threads_times(std::int64_t n, MutationRandom& random) { return n * (1 + random.below(9)); }

std::int64_t size_like(MutationRandom& random) {
  switch (random.below(4)) {
    case 0:
      return kUnits[static_cast<std::size_t>(random.below(kUnits.size()))];
    case 1:  // near a power of two
      return beside(std::int64_t{1} << random.below(13), 2, random);
    case 2:  // near vector x threads
      return beside(threads_times(32 * (std::int64_t{1} << random.below(6)), random), 1, random);
    default:
      return 1 + random.below(std::int64_t{1} << (2 + random.below(11)));
  }
}

std::int64_t column(MutationRandom& random, std::int64_t V) {
  if (V <= 0) return 0;
  switch (random.below(4)) {
    case 0:
      return 0;
    case 1:
      return -1 - random.below(std::min<std::int64_t>(V, 65));
    case 2:
      return std::min(V - 1, kUnits[static_cast<std::size_t>(random.below(kUnits.size()))]);
    default:
      return random.below(V);
  }
}

Stretch stretch_for(MutationRandom& random, std::int64_t V, const Domain& domain) {
  Stretch t;
  if (random.one_in(8)) {  // all winners in one thread's or lane's slice
    t.put = Put::above;
    t.value = 6 + 20 * random.uniform();
    t.start = random.below(64);
    t.period = std::int64_t{32} << random.below(6);
    return t;
  }
  const std::int64_t kind = random.below(domain.finite ? 6 : 12);
  t.put = kind < 3    ? Put::above
          : kind < 5  ? Put::value
          : kind < 6  ? std::array{Put::neg_zero, Put::subnormal, Put::largest,
                                  Put::lowest}[static_cast<std::size_t>(random.below(4))]
          : kind < 10 ? Put::neg_inf
          : kind < 11 ? Put::nan
                      : Put::pos_inf;
  t.value = random.one_in(2) ? kGaps[static_cast<std::size_t>(random.below(kGaps.size()))]
                             : kOffsets[static_cast<std::size_t>(random.below(kOffsets.size()))];
  t.start = column(random, V);
  // The length of a vector, a warp, a thread's slice, a tile, or everything.
  constexpr std::array<std::int64_t, 8> kLengths = {1, 1, 1, 4, 32, 128, 1024, kMostColumns};
  t.length = kLengths[static_cast<std::size_t>(random.below(kLengths.size()))];
  if (random.one_in(3))
    t.period = std::max<std::int64_t>(2, kUnits[static_cast<std::size_t>(random.below(kUnits.size()))]);
  t.rows = random.one_in(3) ? static_cast<std::int32_t>(random.below(4)) : -1;
  return t;
}

void draw_shape(Genome& g, MutationRandom& random, const Domain& domain) {
  if (!domain.sizes.empty())
    g.V = random.pick(std::span<const std::int64_t>(domain.sizes));
  else if (random.one_in(kLongIsRare))
    g.V = kLong + random.below(std::int64_t{1} << (3 + random.below(15)));
  else
    g.V = std::max<std::int64_t>(random.one_in(40) ? 0 : 1, size_like(random));
  g.rows = random.one_in(3) ? 1 : 1 + random.below(domain.most_rows);
}

/// Kernels select up to this many in one way, more in another.
constexpr std::int64_t kFew = 256;

/// Largest k to draw. More than twice V shows nothing new.
std::int64_t largest_k(std::int64_t V, MutationRandom& random, const Domain& domain) {
  if (domain.max_k <= kFew) return domain.max_k;
  return random.one_in(2) ? kFew : std::min<std::int64_t>(domain.max_k, std::max(kFew, 2 * V));
}

void draw_launch(Genome& g, MutationRandom& random, const Domain& domain) {
  if (random.one_in(2)) {
    g.pitch_gap = g.first = 0;
  } else {
    g.pitch_gap = random.below(9);
    g.first = random.below(9);
  }
  g.max_blocks = random.one_in(2) ? 0 : 1 + random.below(4);
  g.schedule = random.one_in(2) ? 0 : random.next() >> 40;
  if (domain.max_k > 0) g.k = static_cast<std::int32_t>(1 + random.below(largest_k(g.V, random, domain)));
}

/// Clamps the genome to the domain of the search.
Genome held(Genome g, const Domain& domain) {
  if (domain.sizes.empty()) g.V = std::clamp(g.V, domain.shortest, std::max(domain.shortest, domain.longest));
  if (domain.V_multiple > 1) {
    g.V = std::max<std::int64_t>(1, g.V / domain.V_multiple) * domain.V_multiple;
    if (g.V < domain.shortest)
      g.V += (domain.shortest - g.V + domain.V_multiple - 1) / domain.V_multiple * domain.V_multiple;
  }
  g.rows = std::min({g.rows, domain.most_rows,
                     std::max<std::int64_t>(1, domain.elements / std::max<std::int64_t>(1, g.V))});
  g.rows = std::max(g.rows, domain.fewest_rows);
  if (domain.dense) g.pitch_gap = g.first = 0;
  if (domain.usual_launch) g.max_blocks = 0, g.schedule = 0;
  if (domain.finite)
    for (Stretch& t : g.stretch)
      if (t.put == Put::neg_inf || t.put == Put::pos_inf || t.put == Put::nan) t.put = Put::above;
  if (domain.max_k > 0) g.k = std::min(g.k, domain.max_k);
  if (domain.max_k > 0 && domain.k_up_to_V)
    g.k = std::min(g.k, static_cast<std::int32_t>(std::max<std::int64_t>(1, g.V)));
  return in_range(g);
}

/// One logit becomes a constant that the kernel compares something with: the first, the last, or any.
void put_constant(Genome& g, MutationRandom& random, const Domain& domain) {
  if (g.V < 1) return;
  Stretch t;
  t.value = random.pick(std::span<const double>(domain.constants));
  const std::int64_t where = random.below(4);
  t.start = where < 2 ? 0 : where == 2 ? -1 : random.below(g.V);
  // The last stretch that covers an element counts.
  if (g.stretches < kMostStretches) ++g.stretches;
  g.stretch[static_cast<std::size_t>(g.stretches - 1)] = t;
}

void change(Genome& g, MutationRandom& random, const Domain& domain) {
  switch (random.below(14)) {
    case 0:
      g.base = static_cast<Base>(random.below(kBaseNames.size()));
      return;
    case 1:
      g.offset = random.one_in(2) ? kOffsets[static_cast<std::size_t>(random.below(kOffsets.size()))]
                                  : nudged(g.offset, random);
      return;
    case 2:
      g.spread = random.one_in(2) ? kSpreads[static_cast<std::size_t>(random.below(kSpreads.size()))]
                                  : nudged(g.spread, random);
      return;
    case 3:
    case 4:
      g.gap = random.one_in(2) ? kGaps[static_cast<std::size_t>(random.below(kGaps.size()))]
                               : nudged(g.gap, random);
      return;
    case 5:
      g.period = size_like(random);
      return;
    case 6:
      g.grid = random.one_in(2) ? 0 : kGrids[static_cast<std::size_t>(random.below(kGrids.size()))];
      return;
    case 7:
      g.seed = random.next() >> 32;
      return;
    case 8:
      g.permutation = random.one_in(2) ? 0 : random.next() >> 48;
      return;
    case 9:
      draw_shape(g, random, domain);
      return;
    case 10:
      draw_launch(g, random, domain);
      return;
    case 11:  // adds a stretch or replaces one
      if (g.stretches < kMostStretches && (g.stretches == 0 || random.one_in(2)))
        g.stretch[static_cast<std::size_t>(g.stretches++)] = stretch_for(random, g.V, domain);
      else
        g.stretch[static_cast<std::size_t>(random.below(g.stretches))] = stretch_for(random, g.V, domain);
      return;
    case 12:
      if (g.stretches > 0) {
        const auto at = static_cast<std::size_t>(random.below(g.stretches));
        g.stretch[at] = g.stretch[static_cast<std::size_t>(--g.stretches)];
      }
      return;
    default:
      if (g.stretches > 0) {
        Stretch& t = g.stretch[static_cast<std::size_t>(random.below(g.stretches))];
        switch (random.below(4)) {
          case 0:
            t.start = column(random, g.V);
            return;
          case 1:
            t.length = size_like(random);
            return;
          case 2:
            t.period = random.one_in(2) ? 0 : size_like(random);
            return;
          default:
            t.value = nudged(t.value, random);
        }
      } else {
        g.V += random.below(5) - 2;
      }
  }
}

/// The value `steps` steps away from x in the format, kept finite.
double moved(Dtype t, double x, std::int64_t steps) {
  const std::uint64_t bits = encode(t, x), sign = format(t).sign_mask();
  std::int64_t place = static_cast<std::int64_t>(bits & (sign - 1));
  if (bits & sign) place = -place;
  const auto largest = static_cast<std::int64_t>(format(t).infinity_bits()) - 1;
  place = std::clamp(place + steps, -largest, largest);
  return decode(t, place < 0 ? sign | static_cast<std::uint64_t>(-place) : static_cast<std::uint64_t>(place));
}

/// One small change of a row. It may hold -inf; finite logits stay finite.
void change_row(std::vector<double>& x, Dtype dtype, MutationRandom& random) {
  const auto any = [&] { return static_cast<std::size_t>(random.below(std::ssize(x))); };
  const std::size_t i = any(), j = any(), low = std::min(i, j), high = std::max(i, j);
  const double m = *std::max_element(x.begin(), x.end());
  const auto set = [&](std::size_t at, double v) {
    if (std::isfinite(v)) x[at] = round_to(dtype, std::clamp(v, -max_finite(dtype), max_finite(dtype)));
  };
  const auto steps = [&] {
    const auto size = std::int64_t{1} << random.below(format(dtype).precision);
    return random.one_in(2) ? size : -size;
  };
  switch (random.below(9)) {
    case 0:
    case 1:
      if (std::isfinite(x[i])) x[i] = moved(dtype, x[i], steps());
      break;
    case 2:
      std::swap(x[i], x[j]);
      break;
    case 3:
      x[i] = x[j];
      break;
    case 4:
      set(i, m - std::exp(6 * random.uniform() - 1.5));
      break;
    case 5: {  // the range of the row
      const double factor = std::exp(random.uniform() - 0.5);
      for (std::size_t at = 0; at < x.size(); ++at) set(at, m + (x[at] - m) * factor);
      break;
    }
    case 6: {  // all logits by the same amount
      const double by = random.uniform() - 0.5, c = std::ldexp(by, static_cast<int>(random.below(10)) - 4);
      for (std::size_t at = 0; at < x.size(); ++at) set(at, x[at] + c);
      break;
    }
    case 7: {  // a ramp between two positions
      const double slope = std::exp(-12 * random.uniform());
      for (std::size_t at = low; at < high; ++at) set(at, m - slope * static_cast<double>(high - at));
      break;
    }
    default: {  // one value over a stretch
      const double v = x[any()];
      for (std::size_t at = low; at <= high; ++at) x[at] = v;
    }
  }
}

}  // namespace

Genome fresh(MutationRandom& random, const Domain& domain) {
  Genome g;
  draw_shape(g, random, domain);
  draw_launch(g, random, domain);
  g.base = static_cast<Base>(random.below(kBaseNames.size()));
  g.offset = random.one_in(2) ? 0 : kOffsets[static_cast<std::size_t>(random.below(kOffsets.size()))];
  g.spread = kSpreads[static_cast<std::size_t>(random.below(kSpreads.size()))];
  g.gap = kGaps[static_cast<std::size_t>(random.below(kGaps.size()))];
  g.period = size_like(random);
  g.grid = random.one_in(6) ? kGrids[static_cast<std::size_t>(random.below(kGrids.size()))] : 0;
  g.permutation = random.one_in(4) ? random.next() >> 48 : 0;
  g.seed = random.next() >> 32;
  if (random.one_in(2)) g.stretches = static_cast<std::int32_t>(1 + random.below(2));
  for (int s = 0; s < g.stretches; ++s)
    g.stretch[static_cast<std::size_t>(s)] = stretch_for(random, g.V, domain);
  if (!domain.constants.empty() && random.one_in(3)) put_constant(g, random, domain);
  return held(g, domain);
}

Genome mutate(Genome g, MutationRandom& random, const Domain& domain) {
  if (domain.steps_of && g.V > 0 && (!g.row.empty() || !random.one_in(3))) {
    const Tensor made = tensor_of(g, *domain.steps_of);
    g.row.resize(static_cast<std::size_t>(g.V));
    for (std::int64_t j = 0; j < g.V; ++j) g.row[static_cast<std::size_t>(j)] = made.at(0, j);
    for (std::int64_t n = 1 + random.below(3); n > 0; --n) change_row(g.row, *domain.steps_of, random);
    return held(g, domain);
  }
  for (std::int64_t n = 1 + random.below(4); n > 0; --n) change(g, random, domain);
  if (!domain.constants.empty() && random.one_in(4)) put_constant(g, random, domain);
  return held(g, domain);
}

Genome cross(const Genome& a, const Genome& b, MutationRandom& random, const Domain& domain) {
  Genome g = a;
  const std::int64_t what = random.below(7);
  const auto take = [&](auto... gene) { ((g.*gene = b.*gene), ...); };
  if (what & 1) take(&Genome::stretches, &Genome::stretch);
  if (what & 2) take(&Genome::V, &Genome::rows, &Genome::period);
  if (what & 4 || what == 0)
    take(&Genome::pitch_gap, &Genome::first, &Genome::max_blocks, &Genome::schedule, &Genome::offset,
         &Genome::grid);
  return held(g, domain);
}

}  // namespace assay::fuzz
