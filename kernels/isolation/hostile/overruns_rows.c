// SPDX-License-Identifier: Apache-2.0
/* Writes one element past the last row.
 * expects: fail none "guard" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) {
  values(c)[(c->values->shape[0] - 1) * c->values->strides[0] + c->values->shape[1]] = 1;
}
CANDIDATE("overruns_rows")
