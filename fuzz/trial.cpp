// SPDX-License-Identifier: Apache-2.0
#include "fuzz/trial.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/fast_judge/fast_judge.hpp"
#include "kernels/fault_kind.hpp"

namespace assay::fuzz {

Trial trial_of(const Genome& g, const Variant& variant, Op op) {
  const Genome in = in_range(g);
  // A genome numbers the thresholds from 1 on.
  const std::vector<Pick> those = keeps_a_set(op) ? thresholds(op, true) : std::vector<Pick>{Pick()};
  const Pick& threshold = those[static_cast<std::size_t>(std::max(in.k, 1) - 1) % those.size()];
  return {.logits = tensor_of(in, variant.dtype),
          .pick = selects(op) ? Pick(in.k) : threshold,
          .pitch_gap = in.pitch_gap,
          .first = in.first,
          .max_blocks = in.max_blocks,
          .schedule = in.schedule,
          .seed = in.seed};
}

Record check(const Variant& variant, Op op, const Trial& trial, bool nearest) {
  const Case c("fuzz", trial.logits);
  CheckOptions options;
  options.pitch = trial.logits.V + trial.pitch_gap;
  options.offset = trial.first;
  options.launch.schedule = trial.schedule;
  options.launch.max_blocks = trial.max_blocks;
  options.nearest = nearest;
  options.seed = trial.seed;
  Record r = check_case(variant, c, op, trial.pick, options);
  r.seed = trial.seed;
  return r;
}

const char* name(RowKind kind) {
  static constexpr const char* names[] = {"empty", "finite", "masked", "all_neg_inf", "pos_inf", "nan"};
  return names[static_cast<int>(kind)];
}

RowKind kind_of_row(const Tensor& logits, std::int64_t row) {
  if (logits.V == 0) return RowKind::empty;
  std::int64_t negative = 0;
  bool positive = false;
  for (std::int64_t j = 0; j < logits.V; ++j) {
    const double x = logits.at(row, j);
    if (std::isnan(x)) return RowKind::nan;
    if (std::isinf(x)) x < 0 ? static_cast<void>(++negative) : static_cast<void>(positive = true);
  }
  if (positive) return RowKind::pos_inf;
  return negative == 0 ? RowKind::finite : negative == logits.V ? RowKind::all_neg_inf : RowKind::masked;
}

const char* kind_of(const Tensor& logits) {
  RowKind most = logits.V == 0 ? RowKind::empty : RowKind::finite;
  for (std::int64_t r = 0; r < logits.rows; ++r) most = std::max(most, kind_of_row(logits, r));
  return name(most);
}

Signature signature_of(const Record& record, const Tensor& logits) {
  Signature s;
  s.rows = kind_of(logits);
  if (record.status == Status::crashed || record.status == Status::hung) s.check = name(record.status);
  if (record.status == Status::fail)
    for (const CheckResult& c : record.checks)
      if (c.failed > 0) {
        s.check = name(c.check);
        break;
      }
  return s;
}

bool fails_like(const Record& record, const Tensor& logits, const Signature& signature) {
  if (kind_of(logits) != signature.rows) return false;
  if (signature.check == name(Status::crashed) || signature.check == name(Status::hung))
    return name(record.status) == signature.check;
  return record.status == Status::fail &&
         std::any_of(record.checks.begin(), record.checks.end(),
                     [&](const CheckResult& c) { return c.failed > 0 && name(c.check) == signature.check; });
}

namespace {

/// Checks that every row has a finite logit and none has NaN or +inf. `widest`: the largest distance between
/// the largest and the smallest finite logit of a row. `lowest`: the smallest, or 0.
bool ordinary(const Tensor& t, double& widest, double& lowest) {
  widest = 0, lowest = 0;
  for (std::int64_t r = 0; r < t.rows; ++r) {
    double lo = INFINITY, hi = -INFINITY;
    for (std::int64_t j = 0; j < t.V; ++j) {
      const double x = t.at(r, j);
      if (!(x < INFINITY)) return false;
      if (x > -INFINITY) lo = std::min(lo, x);
      hi = std::max(hi, x);
    }
    if (hi == -INFINITY) return false;
    widest = std::max(widest, hi - lo);
    lowest = std::min(lowest, lo);
  }
  return true;
}

/// A logit farther than this below the maximum has an output that is no normal number, whatever the sum.
double nearest_far(Dtype t) { return -std::log(min_normal(t)) - 4; }

}  // namespace

GenomeEvaluator::GenomeEvaluator(const Variant& variant, Op op)
    : variant_(variant),
      op_(op),
      fast_(op == Op::softmax && variant.out() == variant.dtype &&
            fast_judge_unsupported(variant.claim, variant.dtype, variant.out()).empty()) {}

// True if every row passes what the fast judge compares, and what it does not compare looks right.
bool GenomeEvaluator::look(const Trial& trial, Evaluation& e) const {
  const Tensor& x = trial.logits;
  Layout layout = plain_layout();
  layout.in_gap = layout.out_gap = trial.pitch_gap;
  layout.offset = trial.first;
  layout.launch.schedule = trial.schedule;
  layout.launch.max_blocks = trial.max_blocks;
  const std::uint64_t of_trial = drawn_for("fuzz", x.V, x.rows, trial.seed);
  layout.draw = drawn(of_trial);
  layout.outputs = stale_of(of_trial, 0);
  GuardedLaunch run(variant_, problem_of(variant_, op_, x.rows, x.V, 0, x.V), x, layout);
  const LaunchOutcome outcome = run.run();
  e.dispatch = outcome.dispatch;
  if (!outcome.ok()) return false;
  Tally tally;
  run.inspect(tally);
  if (tally.failed() > 0) return false;
  Outputs o;
  o.in = o.out = variant_.dtype;
  o.rows = x.rows;
  o.V = x.V;
  o.logits = run.images().logits.payload();
  o.in_pitch = run.problem().in_pitch;
  o.probs = run.images().probs.payload();
  o.out_pitch = run.problem().out_pitch;
  const FastJudgement j = judge_fast(variant_.claim, variant_.backend, o, 1);
  e.elements = j.elements;
  e.share[static_cast<std::size_t>(Check::element)] = j.statistics.utilisation;
  if (j.failed > 0 || j.unjudged > 0) return false;
  if (!run.has_normalizer() || !variant_.writes_normalizer) return true;
  // This gives no verdict, only a reason for check_case: m must be a logit, and the largest output about 1 /
  // d.
  for (std::int64_t r = 0; r < x.rows; ++r) {
    double m = -INFINITY, top = 0;
    for (std::int64_t i = 0; i < x.V; ++i) {
      m = std::max(m, x.at(r, i));
      top = std::max(top, decode(variant_.out(), run.value_bits(r, i)));
    }
    const double product = top * static_cast<double>(run.d(r));
    if (static_cast<double>(run.m(r)) != m || !(product > 0.99 && product < 1.01)) return false;
  }
  return true;
}

void GenomeEvaluator::say_far(const Genome& g, Evaluation& e) const {
  const Tensor x = tensor_of(g, variant_.dtype);
  const Terms terms = terms_of(variant_.claim, variant_.backend, variant_.out(), x.V);
  double lo = INFINITY, hi = -INFINITY, sum = 0;
  for (std::int64_t j = 0; j < x.V; ++j) {
    if (std::isfinite(x.at(0, j))) lo = std::min(lo, x.at(0, j));
    hi = std::max(hi, x.at(0, j));
  }
  for (std::int64_t j = 0; j < x.V; ++j) sum += std::exp(x.at(0, j) - hi);
  e.far_sum = std::exp(lo - (terms.shifted ? hi : 0)) < min_normal(terms.arithmetic);
  e.far = e.far_sum || (!logarithms(op_) && std::exp(lo - hi) < sum * min_normal(variant_.out()));
}

Evaluation GenomeEvaluator::operator()(const Genome& g, bool full, double wanted) const {
  Evaluation e;
  e.share.fill(-1);
  const Trial trial = trial_of(g, variant_, op_);
  double widest = 0, lowest = 0;
  const bool plain = trial.logits.V > 0 && ordinary(trial.logits, widest, lowest);
  // A kernel that subtracts no maximum computes exp of the logits themselves.
  const bool shifted = variant_.claim.shift != Shift::none;
  e.far = widest > nearest_far(variant_.out()) || (!shifted && -lowest > nearest_far(Dtype::f32));
  e.far_sum = e.far;
  const bool passed = fast_ && plain && trial.logits.V > 1 && look(trial, e);
  if (passed && !full && !(e.share[static_cast<std::size_t>(Check::element)] > wanted)) return e;
  Launcher* const launcher = variant_.launcher.get();
  e.record = check(variant_, op_, trial, false);
  // What another process may have caused is no finding: run it once more, in a fresh worker. If that launch
  // is lost, the trial stays lost.
  if (launcher && launcher->disturbance().any()) {
    launcher->restart();
    e.record = check(variant_, op_, trial, false);
    const Disturbance d = launcher->disturbance();
    // A process that ended again and again, and at last did not, shows nothing.
    if (!d.lost.ok() && (d.lost.kind != FaultKind::died || e.record->status == Status::pass)) {
      e.record = blank_record(variant_, "fuzz", op_, shape_of(trial.logits.rows, trial.logits.V, {}), 0);
      e.record->reason = d.lost.fault;
      e.record->wants = d.lost.kind;
    }
  }
  e.elements = trial.logits.rows * trial.logits.V;
  e.signature = signature_of(*e.record, trial.logits);
  for (const CheckResult& c : e.record->checks)
    if (c.utilisation > 0) e.share[static_cast<std::size_t>(c.check)] = c.utilisation;
  return e;
}

}  // namespace assay::fuzz
