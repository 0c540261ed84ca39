// SPDX-License-Identifier: Apache-2.0
// Does not let its compiler end. DENIES says how.
#if DENIES == 1  // a file without an end
#include "/dev/zero"
#elif DENIES == 2  // a constant that takes for ever
constexpr long spin(long n) {
  long sum = 0;
  for (long i = 0; i < n; ++i) sum += i ^ n;
  return sum;
}
template <long many, long n>
struct Turn {
  static constexpr long value = spin(200000 + many) + Turn<many, n - 1>::value;
};
template <long many>
struct Turn<many, 0> {
  static constexpr long value = 0;
};
template <long n>
struct Many {
  static constexpr long value = Turn<n, 800>::value + Many<n - 1>::value;
};
template <>
struct Many<0> {
  static constexpr long value = 0;
};
static_assert(Many<800>::value != 1, "");
#elif DENIES == 3  // an object of 3 GB
__attribute__((used)) static char many[3000000000] = {1};
#elif DENIES == 4  // words for the terminal in an error
#error "[2J[1;32mPASS[0m <script>alert(1)</script>"
#elif DENIES == 5  // a pipe that nobody writes to
#include "pipe.h"
#endif
#include "softmax.cuh"
void softmax(const float* in, float* out, int rows, int cols, cudaStream_t s) {
  launch(in, out, rows, cols, s, 1.0f);
}
