// SPDX-License-Identifier: Apache-2.0
// The inputs that an adopter's program has. A kernel is of use to him only if it takes all of them; what the
// kernel's author declares can not make them fewer. CONTRACT.md says what the words mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/registry.hpp"

namespace assay::conformance {

/// `from`, `from` + `step`, ... up to `to`.
struct Span {
  std::int64_t from = 1, to = 1, step = 1;
};

struct Region {
  std::vector<Span> V, rows, k;  // row lengths, rows of a launch, k of top-k
  double max_abs = 0;            // finite logits up to this size; infinite: any
  std::int64_t alignment = 256;  // every launch's rows start at a multiple of so many bytes
  bool any_pitch = false;        // rows lie at any distance, and not only V apart
  bool masks = true;             // -inf beside a finite logit
  std::vector<Dtype> types;      // of logits; empty: those of the kernel
};

/// What nearly every caller has: rows of 1 to 4,096 logits up to 10,000 in size, 1 to 4,096 of them in a
/// launch, as an allocator places them. The core of CONTRACT.md.
Region usual_region();

/// The region of a text such as "V=1..131072; rows=1..65536". A word that it does not have is that of
/// usual_region(). Throws InputError, one line that names the word.
Region region_of(const std::string& text);

/// What of the region is outside of the kernel's limits, one sentence each, by the first input that is: "V =
/// 3 is none of V_in". Empty if all of it is inside. Long spans are tried at their ends, around powers of two
/// and at their first 64 steps.
std::vector<std::string> beyond(const Region& region, const Variant& variant);

/// The words of a declaration that are limits, without those that `typed` has too and the largest row length
/// that only says that an int holds it: "V_in={2}; max_rows=1". Empty if there are none.
std::string own_limits(const Variant& variant, const std::string& typed);

}  // namespace assay::conformance
