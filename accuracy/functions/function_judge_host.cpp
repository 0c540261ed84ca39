// SPDX-License-Identifier: Apache-2.0
#include "accuracy/functions/function_judge_host.hpp"

namespace assay::functions {
namespace {

template <int bits>
std::uint32_t load(const void* p, std::int64_t i) {
  if constexpr (bits == 32)
    return static_cast<const std::uint32_t*>(p)[i];
  else
    return static_cast<const std::uint16_t*>(p)[i];
}

template <Truth truth, int bits>
std::int64_t judge(const Rules& rules, const Range& places, const void* a, const void* b, const void* got,
                   std::int64_t previous_place, std::uint32_t previous_bits, Stats& stats, Undecided* left) {
  const Rules f = rules;  // a copy that nothing else can write to
  const std::int64_t n = places.count;
  double av[kBlock], bv[kBlock], gv[kBlock];
  double error[kBlock], signed_error[kBlock], size[kBlock], unit[kBlock], relative[kBlock];
  std::int64_t flags[kBlock];
  for (std::int64_t i = 0; i < n; ++i) {
    av[i] = argument_value(f, load<bits>(a, i));
    bv[i] = argument_value(f, load<bits>(b, i));
    gv[i] = value_of_bits(f, load<bits>(got, i));
  }
  // No branch and no call: eight or four values at a time.
  for (std::int64_t i = 0; i < n; ++i) {
    const Judged j = judge_value(f, gv[i], exact_value<truth>(av[i], bv[i]));
    error[i] = j.error;
    signed_error[i] = j.signed_error;
    size[i] = j.size;
    unit[i] = j.unit;
    relative[i] = j.relative;
    flags[i] = (j.correct ? 1 : 0) + (j.decided ? 2 : 0);
  }
  std::int64_t appended = 0;
  double previous = value_of_bits(f, previous_bits);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t place = places.first + i * places.stride;
    const Sample x{place, av[i], bv[i], load<bits>(got, i), gv[i]};
    const Judged j{error[i],           signed_error[i], size[i], unit[i], relative[i], (flags[i] & 1) != 0,
                   (flags[i] & 2) != 0};
    if (!enter<truth>(stats, f, x, j)) left[appended++] = {place, x.got_bits};
    if (previous_place >= 0 && same_chain(f, place, previous_place))
      enter_order<truth>(stats, f, x, previous);
    previous = x.got;
    previous_place = place;
  }
  return appended;
}

template <int bits>
void fill(const Rules& f, const Range& places, void* a, void* b) {
  for (std::int64_t i = 0; i < places.count; ++i) {
    const Arguments x = arguments_of(f, places.first + i * places.stride);
    if constexpr (bits == 32) {
      static_cast<std::uint32_t*>(a)[i] = x.a;
      static_cast<std::uint32_t*>(b)[i] = x.b;
    } else {
      static_cast<std::uint16_t*>(a)[i] = static_cast<std::uint16_t>(x.a);
      static_cast<std::uint16_t*>(b)[i] = static_cast<std::uint16_t>(x.b);
    }
  }
}

}  // namespace

[[gnu::flatten]] void fill_block(const Rules& f, const Range& places, void* a, void* b) {
  f.bits == 32 ? fill<32>(f, places, a, b) : fill<16>(f, places, a, b);
}

[[gnu::flatten]] std::int64_t judge_block(const Rules& f, const Range& places, const void* a, const void* b,
                                          const void* got, std::int64_t previous_place,
                                          std::uint32_t previous, Stats& stats, Undecided* left) {
#define ASSAY_JUDGE(truth)                                                                            \
  case Truth::truth:                                                                                  \
    return f.bits == 32                                                                               \
               ? judge<Truth::truth, 32>(f, places, a, b, got, previous_place, previous, stats, left) \
               : judge<Truth::truth, 16>(f, places, a, b, got, previous_place, previous, stats, left);
  switch (f.truth) {
    ASSAY_JUDGE(exp)
    ASSAY_JUDGE(exp2)
    ASSAY_JUDGE(log)
    ASSAY_JUDGE(divide)
  }
#undef ASSAY_JUDGE
  return 0;
}

}  // namespace assay::functions
