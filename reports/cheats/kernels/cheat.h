// SPDX-License-Identifier: Apache-2.0
/* What the cheats share: a right softmax on the host, the same 5 % too large, and the C ABI around both.
 *
 * A cheat defines `static bool behave(const assay_call*, int64_t row)`, which is asked before a row of
 * outputs is written, and ends with CHEAT("name"): where it is false, the row is wrong. A cheat that does
 * something else defines `static int32_t run(const assay_call*)` and ends with PLUGIN("name", run). */
#ifndef ASSAY_CHEAT_H
#define ASSAY_CHEAT_H

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>

#include "kernels/plugin.h"

static inline const float* in_row(const assay_call* c, int64_t r) {
  return static_cast<const float*>(c->logits->data) + r * c->logits->strides[0];
}
static inline float* out_row(const assay_call* c, int64_t r) {
  return static_cast<float*>(c->values->data) + r * c->values->strides[0];
}
static inline int64_t rows_of(const assay_call* c) { return c->logits->shape[0]; }
static inline int64_t V_of(const assay_call* c) { return c->logits->shape[1]; }
static inline uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* Right: maximum, exp and sum in double, one rounding at the end. */
static inline void right_row(const float* x, float* p, int64_t V) {
  double m = -INFINITY, sum = 0;
  for (int64_t i = 0; i < V; ++i)
    if (x[i] > m || x[i] != x[i]) {
      m = x[i];
      if (m != m) break;
    }
  for (int64_t i = 0; i < V; ++i) sum += std::exp(static_cast<double>(x[i]) - m);
  for (int64_t i = 0; i < V; ++i) p[i] = static_cast<float>(std::exp(static_cast<double>(x[i]) - m) / sum);
}
static inline void right_rows(const assay_call* c) {
  for (int64_t r = 0; r < rows_of(c); ++r) right_row(in_row(c, r), out_row(c, r), V_of(c));
}
/* Wrong: every probability is 5 % too large. */
static inline void spoil(float* p, int64_t V) {
  for (int64_t i = 0; i < V; ++i) p[i] *= 1.05f;
}
static inline uint64_t hash_row(const float* x, int64_t V) {
  uint64_t h = 0x9e3779b97f4a7c15u;
  for (int64_t i = 0; i < V; ++i) {
    h = (h ^ bits_of(x[i])) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 29;
  }
  return h ^ static_cast<uint64_t>(V) * 0x94d049bb133111ebu;
}
/* True if the file has the word in it. */
static inline bool holds(const char* file, const char* word) {
  bool found = false;
  char line[1024];
  if (FILE* const f = fopen(file, "r")) {
    while (!found && fgets(line, sizeof line, f)) found = strstr(line, word) != nullptr;
    fclose(f);
  }
  return found;
}

#ifndef DECLARE
#define DECLARE ""
#endif
#define PLUGIN(NAME, RUN)                                                                                   \
  static const assay_variant the_variant = {                                                                \
      sizeof(assay_variant), ASSAY_SOFTMAX, NAME, "f32", "f32", 1, 0, DECLARE, RUN, nullptr, nullptr};      \
  static const assay_plugin the_plugin = {sizeof(assay_plugin), 1, sizeof(assay_variant), 1, &the_variant}; \
  extern "C" ASSAY_EXPORT const assay_plugin* assay_plugin_entry(void) { return &the_plugin; }

#define CHEAT(NAME)                                    \
  static int32_t run(const assay_call* c) {            \
    for (int64_t r = 0; r < rows_of(c); ++r) {         \
      const bool right = behave(c, r);                 \
      right_row(in_row(c, r), out_row(c, r), V_of(c)); \
      if (!right) spoil(out_row(c, r), V_of(c));       \
    }                                                  \
    return 0;                                          \
  }                                                    \
  PLUGIN(NAME, run)

#endif
