// Merges the named members of one count into those of another, where a count is gathered in parts:
//   add_members(*this, other, &Stats::inputs, &Stats::judged);   // inputs += other.inputs; judged += other.judged
#pragma once

#include "reference/oracle/fast_exp.hpp"

namespace assay {

/// Members that are numbers.
template <class T, class... Member>
ASSAY_HOST_DEVICE void add_members(T& to, const T& from, Member T::*... member) {
  ((to.*member += from.*member), ...);
}

/// Members that have a merge of their own.
template <class T, class... Member>
ASSAY_HOST_DEVICE void merge_members(T& to, const T& from, Member T::*... member) {
  ((to.*member).merge(from.*member), ...);
}

}  // namespace assay
