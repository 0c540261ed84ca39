// SPDX-License-Identifier: Apache-2.0
// Says one thing about itself when it is loaded first, and another one later: "nothing declared" where the
// contract is made, "V = 2 alone" where the cases are planned. It returns 1/V for longer rows.
#include "reports/cheats/kernels/cheat.h"

static int32_t run(const assay_call* c) {
  for (int64_t r = 0; r < rows_of(c); ++r)
    if (V_of(c) <= 2)
      right_row(in_row(c, r), out_row(c, r), V_of(c));
    else
      for (int64_t i = 0; i < V_of(c); ++i) out_row(c, r)[i] = 1.0f / static_cast<float>(V_of(c));
  return 0;
}
static assay_variant the_variant = {
    sizeof(assay_variant), ASSAY_SOFTMAX, "two_faces", "f32", "f32", 1, 0, "", run, nullptr, nullptr};
static const assay_plugin the_plugin = {sizeof(assay_plugin), 1, sizeof(assay_variant), 1, &the_variant};
extern "C" ASSAY_EXPORT const assay_plugin* assay_plugin_entry(void) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  the_variant.declaration = now.tv_nsec >> 20 & 1 ? "" : "V_in={2}; max_rows=600; dense=yes";
  return &the_plugin;
}
