// SPDX-License-Identifier: Apache-2.0
/* Writes its inputs.
 * expects: fail none "inputs" */
#include "kernels/isolation/hostile/hostile.h"

static void misbehave(const assay_call* c) { ((float*)c->logits->data)[0] = 1; }
CANDIDATE("writes_inputs")
