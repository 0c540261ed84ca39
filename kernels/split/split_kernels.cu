// SPDX-License-Identifier: Apache-2.0
// The kernels of split.cuh for every dtype, and the lines that register them.
#include "kernels/split/held.cuh"
#include "kernels/split/split.cuh"

namespace assay::ASSAY_BACKEND {
namespace {

using namespace onepass;

template <class T>
Rows<const T> logits_of(const SplitCall& c) {
  return {static_cast<const T*>(c.logits), c.rows, c.in_pitch};
}
Gathered gathered(const SplitCall& c) {
  return {reinterpret_cast<Normalizer*>(c.all), c.blocks, c.parts, c.own, c.rows};
}
unsigned grid_of(const SplitCall& c) { return static_cast<unsigned>(c.rows * c.blocks); }

#if defined(__CUDACC__)
Peers peers(const SplitCall& c) {
  return {c.places, c.places.of[c.own], c.number, c.blocks, c.parts, c.own, c.first, c.all_rows};
}
#endif

/// Calls f with what the call's GPUs meet by.
template <class F>
void with_meeting(const SplitCall& c, F f) {
#if defined(__CUDACC__)
  if (!c.all) return f(peers(c));
#endif
  f(gathered(c));
}

template <class Form, class T>
void sums(const SplitCall& c, const Stream& s) {
  if (c.rows == 0) return;
  with_meeting(c, [&](auto meeting) {
    launch(split_sums<Form, T, decltype(meeting)>, grid_of(c), kSplitThreads, 0, s, logits_of<T>(c),
           c.columns, c.keep, meeting);
  });
}

template <class Form, class T>
void outputs(const SplitCall& c, const Stream& s) {
  if (c.rows == 0 || c.columns == 0) return;
  const Rows<T> probs{static_cast<T*>(c.probs), c.rows, c.out_pitch};
  with_meeting(c, [&](auto meeting) {
    launch(split_outputs<Form, T, decltype(meeting)>, grid_of(c), kSplitThreads, 0, s, logits_of<T>(c), probs,
           c.columns, meeting);
  });
}

template <class Form, class T>
constexpr Claim split_claim() {
  return {
      .algorithm = Algorithm::online,
      .exp = Form::exp,
      .division = Form::division,
      .height = split_height<T>,
      .ftz = Form::ftz,
      .loads = 2,
      .stores = 1,
      .in_place = true,
      .batch_invariant = false,
  };
}

template <class Form, class T>
bool add() {
  SplitKernels k{
      kBackend,      DtypeOf<T>::value, std::is_same_v<Form, Fast>, split_claim<Form, T>(), split_blocks<T>,
      sums<Form, T>, outputs<Form, T>};
#if defined(__CUDACC__)
  k.next_number = [](unsigned* number, unsigned* drawn, const Stream& s) {
    launch(next_number, 1, 1, 0, s, number, drawn);
  };
  k.held = [](const SplitCall& c, const Stream& s) { launch_held<Form, T>(c, s, peers(c)); };
  k.can_hold = can_hold<Form, T>;
#endif
  return register_split_kernels(k);
}

const bool kAdded = add<Fast, f32>() && add<Fast, f16>() && add<Fast, bf16>() && add<Accurate, f32>() &&
                    add<Accurate, f16>() && add<Accurate, bf16>();

}  // namespace
}  // namespace assay::ASSAY_BACKEND
