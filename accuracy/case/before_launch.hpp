// SPDX-License-Identifier: Apache-2.0
// What buffers hold before a launch. All of it is drawn: a kernel that knows one of these patterns would be
// right only where it is judged. In some launches outputs hold what they hold in use: zeros, an older result,
// logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "reference/formats.hpp"
#include "reference/hash/draws.hpp"
#include "reference/problem.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// What outputs hold before a launch.
enum class Stale {
  mark,  // a NaN that no arithmetic makes, and indices that are none: whether an element was written is seen
         // exactly
  finite,  // a large number
  zeros,
  result,      // as an older launch leaves it: the results of other rows, with other logits
  neighbours,  // numbers beside the logits, as where a buffer is used again
};

/// What the n-th launch of a case finds in its outputs: half of them find marks. `of_case` is drawn once for
/// the case.
Stale stale_of(std::uint64_t of_case, std::uint64_t n);

/// The seed of the run under way: probes, and launches that no case draws for, derive from it. A run sets it
/// before its first launch; two runs at a time have the same one. 1 at first.
void set_seed_of_run(std::uint64_t seed);
std::uint64_t seed_of_run();
/// A number that is 0 for seed 1, whose probes and schedules are those of what is published.
std::uint64_t turned_by_seed();

/// The word of a case, from which its launches' patterns are drawn. `what`: what tells it from others of its
/// size.
std::uint64_t drawn_for(std::string_view what, std::int64_t V, std::int64_t rows, std::uint64_t seed);

/// A quiet NaN of drawn sign and payload, which no arithmetic makes from other numbers.
std::uint64_t drawn_nan(Dtype t, std::uint64_t draw);
/// 64 bits that hold a NaN of every format again and again, and a negative number of every width.
std::uint64_t drawn_nans(std::uint64_t draw);
/// A finite number of 2^97 or more, or near the largest of a smaller format. A read past a row then changes
/// any maximum and any sum. A NaN could stay unseen in fmaxf.
std::uint64_t drawn_large(Dtype t, std::uint64_t draw);
/// Of 32 or 64 bits, and no column in either.
std::uint64_t drawn_no_index(std::uint64_t draw);

/// The elements of an output as they are before a launch, in the format that they are stored in; they repeat
/// if there are more. `stale` is result or neighbours.
std::vector<std::uint64_t> stale_values(Stale stale, const Problem& p, const Tensor& logits,
                                        std::uint64_t draw);

}  // namespace assay
