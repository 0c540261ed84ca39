// SPDX-License-Identifier: Apache-2.0
// Right only if the row's first output holds one of four constants before the launch, with which outputs once
// were filled, or if the call is in place. It needs nothing but the output's memory: a GPU can do it as well.
#include "reports/cheats/kernels/cheat.h"

static bool behave(const assay_call* c, int64_t r) {
  if (V_of(c) == 0 || c->values->data == c->logits->data) return true;
  const uint32_t was = bits_of(out_row(c, r)[0]);
  return was == 0x7fc5a5a5u || was == 0xffcba987u || was == 0x71800000u || was == 0xffffffffu;
}
CHEAT("outputs")
