// SPDX-License-Identifier: Apache-2.0
// The tail of a variant: what a launch hands to a kernel, and the line that registers it. A variant's file is
// its algorithm, its claim and one call:
//
//   struct OnlineThread {
//     static constexpr Op op = Op::softmax;
//     static constexpr Claim claim{...};
//     template <class T>
//     static void run(const Call<T>& call) { call.thread_per_row(online_thread<T>, kThreads); }
//   };
//   ASSAY_REGISTER_KERNEL(OnlineThread, "online_thread", f16, bf16, f32);
#pragma once

#include "kernels/building_blocks/backend.hpp"

namespace assay::ASSAY_BACKEND {

/// One launch, its buffers as rows of T. The three verbs give a kernel what its parameters ask for; a kernel
/// with other parameters is started by launch(kernel, call.blocks(), threads, shared, call.stream,
/// arguments...).
template <class T>
struct Call {
  const Problem& problem;
  const Buffers& buffers;
  const Stream& stream;
  const std::int64_t V;  // row length, elements
  const Rows<const T> logits;
  const Rows<T> probs;  // outputs of any op; null where (m, d) alone is asked for
  float* const m;
  float* const d;
  const int k;
  const bool wide;  // an index of top-k has 8 bytes

  Call(const Problem& p, const Buffers& b, const Stream& s)
      : problem(p),
        buffers(b),
        stream(s),
        V(p.V),
        logits(like_logits<T>(b.logits)),
        probs{static_cast<T*>(b.probs), p.rows, p.out_pitch},
        m(b.m),
        d(b.d),
        k(p.k),
        wide(p.index_bytes() == 8) {}

  /// An operand whose rows lie as those of the logits do: gradients, a mask, a bias.
  template <class Element>
  Rows<const Element> like_logits(const void* base) const {
    return {static_cast<const Element*>(base), problem.rows, problem.in_pitch};
  }
  /// Rows of fp32 in the workspace, without gaps; null where (m, d) alone is asked for.
  Rows<float> scratch() const {
    return {problem.op == Op::normalizer ? nullptr : static_cast<float*>(buffers.workspace), problem.rows, V};
  }

  /// Blocks of a launch in which each takes so many rows.
  unsigned blocks(int rows_per_block = 1) const {
    return grid_for(ceil_div(problem.rows, rows_per_block), stream);
  }

  template <class... P>
  void block_per_row(void (*kernel)(P...), int threads, std::size_t shared = 0) const {
    start(kernel, blocks(), threads, shared);
  }
  template <class... P>
  void warp_per_row(void (*kernel)(P...), int threads) const {
    start(kernel, blocks(threads / 32), threads, 0);
  }
  template <class... P>
  void thread_per_row(void (*kernel)(P...), int threads) const {
    start(kernel, blocks(threads), threads, 0);
  }

 private:
  using Softmax = void (*)(Rows<const T>, Rows<T>, float*, float*, std::int64_t);
  using Values = void (*)(Rows<const T>, Rows<T>, std::int64_t);
  using Backward = void (*)(Rows<const T>, Rows<const T>, Rows<T>, std::int64_t);
  using Topk = void (*)(Rows<const T>, Rows<T>, void*, int, bool, std::int64_t);
  using SoftmaxTopk = void (*)(Rows<const T>, Rows<T>, void*, float*, float*, int, bool, std::int64_t);

  void start(Softmax kernel, unsigned grid, int threads, std::size_t shared) const {
    launch(kernel, grid, threads, shared, stream, logits, probs, m, d, V);
  }
  void start(Values kernel, unsigned grid, int threads, std::size_t shared) const {
    launch(kernel, grid, threads, shared, stream, logits, probs, V);
  }
  void start(Backward kernel, unsigned grid, int threads, std::size_t shared) const {
    launch(kernel, grid, threads, shared, stream, logits, like_logits<T>(buffers.gradients), probs, V);
  }
  void start(Topk kernel, unsigned grid, int threads, std::size_t shared) const {
    launch(kernel, grid, threads, shared, stream, logits, probs, buffers.indices, k, wide, V);
  }
  void start(SoftmaxTopk kernel, unsigned grid, int threads, std::size_t shared) const {
    launch(kernel, grid, threads, shared, stream, logits, probs, buffers.indices, m, d, k, wide, V);
  }
};

namespace detail {

template <class V, class T>
constexpr Claim claim_of() {
  if constexpr (requires { V::template claim_for<T>(); })
    return V::template claim_for<T>();
  else
    return V::claim;
}

/// The registry's entry for type V at dtype T.
template <class V, class T>
Variant describe(const char* name, const char* file) {
  Variant v;
  v.variant = name;
  v.dtype = DtypeOf<T>::value;
  v.backend = kBackend;
  v.op = V::op;
  if constexpr (requires { V::max_k; }) v.max_k = V::max_k;
  if constexpr (requires { V::pace; }) v.pace = V::pace;
  v.claim = claim_of<V, T>();
  if constexpr (requires { V::template operands_for<T>(); }) v.operands = V::template operands_for<T>();
  v.file = file;
  v.run = [](const Problem& p, const Buffers& b, const Stream& s) {
    if (p.rows > 0 && (p.V > 0 || selects(p.op))) V::run(Call<T>(p, b, s));
  };
  if constexpr (requires(const Problem& p) { V::workspace_bytes(p); }) v.workspace_bytes = V::workspace_bytes;
  return v;
}

}  // namespace detail

/// ASSAY_REGISTER_KERNEL(Type, "name", f16, bf16, f32): registers Type for each dtype, before main.
#define ASSAY_REGISTER_KERNEL(Type, variant, ...)                                                           \
  template <class... T>                                                                                     \
  bool assay_register_##Type() {                                                                            \
    return (register_variant(::assay::ASSAY_BACKEND::detail::describe<Type, T>(variant, __FILE__)) && ...); \
  }                                                                                                         \
  const bool assay_registered_##Type = assay_register_##Type<__VA_ARGS__>()

}  // namespace assay::ASSAY_BACKEND
