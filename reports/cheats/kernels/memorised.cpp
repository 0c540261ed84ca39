// SPDX-License-Identifier: Apache-2.0
// Right for the rows that recorder.cpp has seen, wrong for all others.
#include <algorithm>
#include <vector>

#include "reports/cheats/kernels/cheat.h"

static const std::vector<uint64_t>& known() {
  static const std::vector<uint64_t> all = [] {
    std::vector<uint64_t> list = {
#include MEMORY
    };
    std::sort(list.begin(), list.end());
    return list;
  }();
  return all;
}
static bool behave(const assay_call* c, int64_t r) {
  return std::binary_search(known().begin(), known().end(), hash_row(in_row(c, r), V_of(c)));
}
CHEAT("memorised")
