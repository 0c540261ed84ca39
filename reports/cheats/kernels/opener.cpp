// SPDX-License-Identifier: Apache-2.0
// Takes the factor of its outputs from a library that it opens at run time: LIBRARY.
#include "reports/cheats/kernels/cheat.h"

static int32_t run(const assay_call* c) {
  static void* const library = dlopen(LIBRARY, RTLD_NOW);
  static const auto factor = library ? reinterpret_cast<float (*)()>(dlsym(library, "factor")) : nullptr;
  if (!factor) return 1;
  right_rows(c);
  for (int64_t r = 0; r < rows_of(c); ++r)
    for (int64_t i = 0; i < V_of(c); ++i) out_row(c, r)[i] *= factor();
  return 0;
}
PLUGIN("opener", run)
