// SPDX-License-Identifier: Apache-2.0
// Games with the contract and with the bound. GAME says which.
#if GAME == 1  // no softmax: it declares itself out of all that could show it
#define DECLARE                                                                                          \
  "max_abs=1; finite=yes; V_in={2}; max_rows=1; in_place=no; dense=yes; alignment=256; exp=fast; "       \
  "division=approximate; determinism=not_guaranteed; batch_invariant=no; all_neg_inf=any; pos_inf=any; " \
  "nan=any"
#elif GAME == 4
#define DECLARE "exp=fast; division=approximate; height=V"
#endif
#include "reports/cheats/kernels/cheat.h"

#if GAME == 1
static int32_t run(const assay_call* c) {
  for (int64_t r = 0; r < rows_of(c); ++r) {
    const float* const x = in_row(c, r);
    float* const p = out_row(c, r);
    for (int64_t i = 0; i < V_of(c); ++i) p[i] = V_of(c) == 2 ? 1 / (1 + std::exp(x[1 - i] - x[i])) : 0.25f;
  }
  return 0;
}
PLUGIN("claims", run)
#elif GAME == 2  // it refuses all but V = 1
static int32_t run(const assay_call* c) {
  if (V_of(c) != 1) return 1;
  right_rows(c);
  return 0;
}
PLUGIN("claims", run)
#elif GAME == 3  // it refuses rows that would be hard
static int32_t run(const assay_call* c) {
  for (int64_t r = 0; r < rows_of(c); ++r) {
    float low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < V_of(c); ++i) {
      low = fminf(low, in_row(c, r)[i]);
      high = fmaxf(high, in_row(c, r)[i]);
    }
    if (high - low > 20) return 1;
  }
  right_rows(c);
  return 0;
}
PLUGIN("claims", run)
#else            // a factor that is common to all outputs: FACTOR
static int32_t run(const assay_call* c) {
  right_rows(c);
  for (int64_t r = 0; r < rows_of(c); ++r)
    for (int64_t i = 0; i < V_of(c); ++i) out_row(c, r)[i] *= FACTOR;
  return 0;
}
PLUGIN("claims", run)
#endif
