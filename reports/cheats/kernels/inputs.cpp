// SPDX-License-Identifier: Apache-2.0
// Wrong for few inputs. WHICH says for which.
#include "reports/cheats/kernels/cheat.h"

#if WHICH == 1  // one row of 10,000
static bool behave(const assay_call* c, int64_t r) { return hash_row(in_row(c, r), V_of(c)) % 10000 != 7; }
#elif WHICH == 2  // one row of a million: at most 3/N says how many rows may be wrong unseen
static bool behave(const assay_call* c, int64_t r) { return hash_row(in_row(c, r), V_of(c)) % 1000000 != 7; }
#elif WHICH == 3  // rows that lie 2 V apart
static bool behave(const assay_call* c, int64_t) {
  return c->logits->strides[0] != 2 * V_of(c) || V_of(c) < 2;
}
#elif WHICH == 4  // every length but those that tests like
static bool behave(const assay_call* c, int64_t) {
  const int64_t V = V_of(c);
  return V <= 300 || (V & (V - 1)) == 0 || ((V + 1) & V) == 0 || ((V - 1) & (V - 2)) == 0 || V % 1000 == 0;
}
#endif
CHEAT("inputs")
