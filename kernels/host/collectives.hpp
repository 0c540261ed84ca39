// SPDX-License-Identifier: Apache-2.0
// Computes what each lane gets from a warp collective. `mask` below holds the lanes that take part: the live
// lanes of the collective's mask, all of which have arrived. All results are computed at that moment, because
// a lane that wakes late must not see values that others bring to a later collective.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "kernels/host/executor.hpp"

namespace assay::executor {

/// A lane whose shuffle reads a lane (`source`) that takes no part.
struct BadRead {
  unsigned lane, source;
};

template <class Source>
std::optional<BadRead> shuffle(unsigned mask, const std::uint64_t* values, std::uint64_t* results,
                               Source source_of) {
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const unsigned source = source_of(lane);
    if (!(mask >> source & 1)) return BadRead{lane, source};
    results[lane] = values[source];
  }
  return std::nullopt;
}

/// Fills results[lane] for every lane of the mask. `arguments` are the shuffles' source lanes, deltas or lane
/// masks. `width` is a power of two up to 32.
inline std::optional<BadRead> deliver(Collective kind, unsigned mask, unsigned width,
                                      const std::uint64_t* values, const int* arguments,
                                      std::uint64_t* results) {
  const unsigned segment = ~(width - 1);  // lane & segment: the first lane of its segment
  const auto number = [&](unsigned lane) { return static_cast<unsigned>(arguments[lane]); };
  switch (kind) {
    case Collective::sync:
      return std::nullopt;
    case Collective::shfl:
      return shuffle(mask, values, results,
                     [&](unsigned l) { return (l & segment) + (number(l) & (width - 1)); });
    case Collective::shfl_up:
      return shuffle(mask, values, results,
                     [&](unsigned l) { return l - (l & segment) < number(l) ? l : l - number(l); });
    case Collective::shfl_down:
      return shuffle(mask, values, results,
                     [&](unsigned l) { return number(l) >= (l & segment) + width - l ? l : l + number(l); });
    case Collective::shfl_xor:
      // A lane may read a lane of an earlier segment. For a lane of a later segment it gets its own value.
      return shuffle(mask, values, results, [&](unsigned l) {
        return (l ^ number(l)) >= (l & segment) + width ? l : l ^ number(l);
      });
    default:
      break;
  }
  const auto first = static_cast<unsigned>(std::countr_zero(mask));
  std::uint64_t r = kind == Collective::min || kind == Collective::bit_and ? ~std::uint64_t{0} : 0;
  for (unsigned rest = mask; rest; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t v = values[lane];
    const std::uint64_t bit = std::uint64_t{1} << lane;
    switch (kind) {
      case Collective::ballot:
      case Collective::all:
      case Collective::any:
        r |= v != 0 ? bit : 0;
        break;
      case Collective::match_all:
        r |= v == values[first] ? bit : 0;
        break;
      case Collective::match_any:
        results[lane] = 0;
        for (unsigned other = mask; other; other &= other - 1)
          if (values[std::countr_zero(other)] == v) results[lane] |= other & -other;
        break;
      case Collective::add:
        r += v;
        break;
      case Collective::min:
        r = std::min(r, v);
        break;
      case Collective::max:
        r = std::max(r, v);
        break;
      case Collective::bit_and:
        r &= v;
        break;
      case Collective::bit_or:
        r |= v;
        break;
      default:
        r ^= v;
        break;
    }
  }
  if (kind == Collective::match_any) return std::nullopt;
  if (kind == Collective::all) r = r == mask;
  if (kind == Collective::any) r = r != 0;
  if (kind == Collective::match_all) r = r == mask ? r : 0;
  for (unsigned rest = mask; rest; rest &= rest - 1) results[std::countr_zero(rest)] = r;
  return std::nullopt;
}

}  // namespace assay::executor
