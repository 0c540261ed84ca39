// SPDX-License-Identifier: Apache-2.0
#include "accuracy/case/job.hpp"

#include "accuracy/reproduce.hpp"
#include "kernels/candidate.hpp"

namespace assay {
namespace {

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

std::vector<Pick> thresholds(Op op, bool more) {
  if (!more) return {usual_pick(op)};
  return {of_threshold(0.000001), usual_pick(op), of_threshold(op == Op::min_p ? 0.2 : 0.5),
          of_threshold(0.999), of_threshold(1)};
}

Record blank_record(const Variant& variant, const std::string& family, Op op, const CaseShape& shape,
                    std::uint64_t seed) {
  Record r;
  r.key = variant.key();
  r.variant = variant.variant;
  r.dtype = name(variant.dtype);
  r.backend = name(variant.backend);
  if (variant.launcher) r.where = where_of(variant.launcher->guard());
  r.op = name(op);
  r.family = family;
  static_cast<CaseShape&>(r) = shape;
  const Pick pick = pick_for(op, shape.pick());
  r.k = pick.k, r.threshold = pick.threshold;
  r.seed = seed;
  r.reproduce = reproduce(repeat_of(variant, family, op, r, seed));
  return r;
}

Problem problem_of(const Variant& variant, Op op, std::int64_t rows, std::int64_t V, const Pick& pick,
                   std::int64_t pitch) {
  Problem p;
  p.op = op;
  p.in = variant.dtype;
  p.out = variant.out();
  p.rows = rows;
  p.V = V;
  p.take(pick_for(op, pick));
  p.operands = variant.operands;
  p.in_pitch = pitch;
  p.out_pitch = p.out_columns() == V ? pitch : p.out_columns();
  return p;
}

}  // namespace assay
