// SPDX-License-Identifier: Apache-2.0
// How a faulty kernel is planted. The fault is an argument of the kernel, not a template parameter: one
// compiled kernel carries all faults of a file.
#pragma once

#include <utility>

#include "kernels/building_blocks/reduce.cuh"
#include "kernels/mutants/mutants.hpp"

namespace assay::ASSAY_BACKEND {

/// Registers `run(problem, buffers, stream)` at dtype T, unless the fault can show only on the other backend.
template <class T, class Run>
bool plant_kernel(const char* id, const char* fault, const char* file, Op op, const Claim& claim, Run run,
                  const Expect& expect, int max_k = 0, const Operands& operands = {}) {
  const std::string_view only = expect.only;
  if (!only.empty() && only != name(kBackend)) return false;
  Mutant m;
  m.variant.dtype = DtypeOf<T>::value;
  m.variant.backend = kBackend;
  m.variant.op = op;
  m.variant.max_k = max_k;
  m.variant.claim = claim;
  m.variant.operands = operands;
  m.variant.file = file;
  m.variant.run = [run = std::move(run)](const Problem& p, const Buffers& b, const Stream& s) {
    if (p.rows > 0 && (p.V > 0 || selects(p.op))) run(p, b, s);
  };
  m.id = id;
  m.fault = fault;
  m.expect = expect;
  return register_mutant(std::move(m));
}

template <class T>
Rows<const T> logits_of(const Problem& p, const Buffers& b) {
  return {static_cast<const T*>(b.logits), p.rows, p.in_pitch};
}
template <class T>
Rows<T> values_of(const Problem& p, const Buffers& b) {
  return {static_cast<T*>(b.probs), p.rows, p.out_pitch};
}

/// A function that launches `kernel` as softmax with fault `f`. Example:
/// plant_kernel<T>(..., softmax_by(vector_softmax<T>, kThreads, f), expect).
template <class T, class Fault>
auto softmax_by(void (*kernel)(Fault, Rows<const T>, Rows<T>, float*, float*, std::int64_t), int threads,
                Fault f) {
  return [=](const Problem& p, const Buffers& b, const Stream& s) {
    launch(kernel, grid_for(p.rows, s), threads, 0, s, f, logits_of<T>(p, b), values_of<T>(p, b), b.m, b.d,
           p.V);
  };
}

}  // namespace assay::ASSAY_BACKEND
