// SPDX-License-Identifier: Apache-2.0
/* Candidates that nobody should trust: each computes a right softmax, and does something else before it
 * returns.
 *
 * A file of this folder holds several. `#ifdef IS_name` begins one, and the build makes a shared object of it
 * alone. The comment above that line says what it does. The words after "expects:" are the record that it
 * gets in a sandbox: "pass", or the status, what kind of fault it is, and words of the reason. If it says
 * "only in a sandbox", the tests never run it outside one. */
#ifndef ASSAY_HOSTILE_H
#define ASSAY_HOSTILE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "kernels/plugin.h"

static const float* logits(const assay_call* c) { return (const float*)c->logits->data; }
static float* values(const assay_call* c) { return (float*)c->values->data; }

static void softmax(const assay_call* c) {
  const int64_t rows = c->logits->shape[0], V = c->logits->shape[1];
  int64_t r, i;
  for (r = 0; r < rows; ++r) {
    const float* x = logits(c) + r * c->logits->strides[0];
    float* y = values(c) + r * c->values->strides[0];
    float m = -INFINITY, d = 0;
    for (i = 0; i < V; ++i) m = fmaxf(m, x[i]);
    for (i = 0; i < V; ++i) d += expf(x[i] - m);
    for (i = 0; i < V; ++i) y[i] = expf(x[i] - m) / d;
  }
}

/* Where the tests look for what it has left behind: the file $ASSAY_HOSTILE_TRACE. */
static inline const char* trace(void) {
  const char* path = getenv("ASSAY_HOSTILE_TRACE");
  return path ? path : "/nowhere/trace";
}

/* A candidate that calls `misbehave` in every launch. */
#define CANDIDATE(name)                                                                                  \
  static int32_t run(const assay_call* c) {                                                              \
    softmax(c);                                                                                          \
    misbehave(c);                                                                                        \
    return 0;                                                                                            \
  }                                                                                                      \
  static const assay_variant variant = {                                                                 \
      sizeof(assay_variant), ASSAY_SOFTMAX, name, "f32", NULL, 1, 0, "", run, NULL, NULL};               \
  static const assay_plugin plugin = {sizeof(assay_plugin), ASSAY_ABI_VERSION, sizeof(assay_variant), 1, \
                                      &variant};                                                         \
  ASSAY_EXPORT const assay_plugin* assay_plugin_entry(void) { return &plugin; }

#ifdef HOSTILE_NAME
static void misbehave(const assay_call* c);
CANDIDATE(HOSTILE_NAME)
#endif

#endif
