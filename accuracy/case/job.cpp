#include "accuracy/case/job.hpp"

#include "accuracy/reproduce.hpp"
#include "kernels/candidate.hpp"

namespace assay {

Record blank_record(const Variant& variant, const std::string& family, Op op, std::int64_t V,
                    std::int64_t rows, int k, std::uint64_t seed) {
  Record r;
  r.key = variant.key();
  r.variant = variant.variant;
  r.dtype = name(variant.dtype);
  r.backend = name(variant.backend);
  if (variant.launcher) r.where = variant.launcher->sandboxed() ? Where::sandbox : Where::not_sandboxed;
  r.op = name(op);
  r.family = family;
  r.rows = rows;
  r.V = V;
  r.k = selects(op) ? k : 0;
  r.seed = seed;
  r.reproduce = reproduce(repeat_of(variant, family, op, V, rows, k, seed));
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
  p.k = selects(op) ? k : 0;
  p.operands = variant.operands;
  p.in_pitch = pitch;
  p.out_pitch = p.out_columns() == V ? pitch : p.out_columns();
  return p;
}

}  // namespace assay
