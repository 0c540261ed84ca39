// SPDX-License-Identifier: Apache-2.0
#include "accuracy/case/job.hpp"

#include "accuracy/reproduce.hpp"
#include "kernels/candidate.hpp"

namespace assay {
namespace {

/// A threshold that is left out is the usual one.
int k_of(Op op, int k) { return !has_k(op) ? 0 : keeps_a_set(op) && k <= 0 ? usual_k(op) : k; }

Where where_of(Guard guard) {
  switch (guard) {
    case Guard::none:
      break;
    case Guard::landlock:
      return Where::landlock;
    case Guard::bubblewrap:
      return Where::sandbox;
  }
  return Where::not_sandboxed;
}

}  // namespace

std::vector<int> thresholds(Op op, bool more) {
  if (!more) return {usual_k(op)};
  return {1, usual_k(op), op == Op::min_p ? 200000 : 500000, 999000, kMillion};
}

Record blank_record(const Variant& variant, const std::string& family, Op op, std::int64_t V,
                    std::int64_t rows, int k, std::uint64_t seed) {
  Record r;
  r.key = variant.key();
  r.variant = variant.variant;
  r.dtype = name(variant.dtype);
  r.backend = name(variant.backend);
  if (variant.launcher) r.where = where_of(variant.launcher->guard());
  r.op = name(op);
  r.family = family;
  r.rows = rows;
  r.V = V;
  r.k = k_of(op, k);
  r.seed = seed;
  r.reproduce = reproduce(repeat_of(variant, family, op, V, rows, r.k, seed));
  return r;
}

Problem problem_of(const Variant& variant, Op op, std::int64_t rows, std::int64_t V, int k,
                   std::int64_t pitch) {
  Problem p;
  p.op = op;
  p.in = variant.dtype;
  p.out = variant.out();
  p.rows = rows;
  p.V = V;
  p.k = k_of(op, k);
  p.operands = variant.operands;
  p.in_pitch = pitch;
  p.out_pitch = p.out_columns() == V ? pitch : p.out_columns();
  return p;
}

}  // namespace assay
