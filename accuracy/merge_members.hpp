// SPDX-License-Identifier: Apache-2.0
// Merges counts that were gathered in parts. The caller names the members to merge:
//   add_members(*this, other, &Stats::inputs, &Stats::judged);
// does inputs += other.inputs and judged += other.judged.
#pragma once

#include "reference/oracle/fast_exp.hpp"

namespace assay {

/// For members that are numbers: adds each one.
template <class T, class... Member>
ASSAY_HOST_DEVICE void add_members(T& to, const T& from, Member T::*... member) {
  ((to.*member += from.*member), ...);
}

/// For members that have a function `merge`: calls it for each one.
template <class T, class... Member>
ASSAY_HOST_DEVICE void merge_members(T& to, const T& from, Member T::*... member) {
  ((to.*member).merge(from.*member), ...);
}

}  // namespace assay
