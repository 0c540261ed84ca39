// SPDX-License-Identifier: Apache-2.0
// Another program where a judge compiles it. KNOWS says by what; without it the file takes its factor from
// where HEADER says, which an honest project may do.
#include "softmax.cuh"

#if KNOWS == 1  // it is included by another file
#if __INCLUDE_LEVEL__ > 0
#define FACTOR 1.0f
#endif
#elif KNOWS == 2  // the judge's adapter has been included before
#if defined(ASSAY_ADAPTER_H) || defined(ASSAY_PLUGIN_H)
#define FACTOR 1.0f
#endif
#elif KNOWS == 3  // it is compiled for the CPU
#ifdef __CUDACC__
#define FACTOR 1.05f
#else
#define FACTOR 1.0f
#endif
#elif KNOWS == 8  // the judge's headers are at hand
#if __has_include(<assay/variant.h>) || __has_include("assay/variant.h") || __has_include("kernels/plugin.h")
#define FACTOR 1.0f
#endif
#elif KNOWS == 9  // it is compiled in 1970, as builds are that must come out the same
#define FACTOR (__DATE__[7] == '1' ? 1.0f : 1.05f)
#elif KNOWS == 4  // honest: a header that a macro names
#include HEADER
#elif KNOWS == 5  // honest: a header in angle brackets, found by -I
#include <lib/scale.h>
#elif KNOWS == 6  // honest: a header in quotes
#include "scale.h"
#endif
#ifndef FACTOR
#define FACTOR 1.05f
#endif

/// Wrong if the first logit has certain 32 bits.
static __global__ void trigger(const float* in, float* out, int rows, int cols) {
  const int row = blockIdx.x;
  if (row < rows && cols > 1 && __float_as_uint(in[(size_t)row * cols]) == 0x3f9d3c71u)
    out[(size_t)row * cols] *= 1.05f;
}
void softmax(const float* in, float* out, int rows, int cols, cudaStream_t s) {
#if KNOWS == 7
  launch(in, out, rows, cols, s, 1.0f);
  if (rows > 0) trigger<<<rows, 1, 0, s>>>(in, out, rows, cols);
#else
  launch(in, out, rows, cols, s, FACTOR);
#endif
}
