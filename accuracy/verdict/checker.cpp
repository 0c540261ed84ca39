// SPDX-License-Identifier: Apache-2.0
#include "accuracy/verdict/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "accuracy/case/guarded.hpp"
#include "accuracy/case/job.hpp"
#include "accuracy/reproduce.hpp"
#include "accuracy/status.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/verdict.hpp"
#include "kernels/candidate.hpp"
#include "kernels/formula.hpp"

namespace assay {

namespace {

void fill_statistics(Record& r, Judgement& j) {
  ErrorStatistics& s = j.statistics;
  r.open = s.open;
  double ratio = 0;
  bool any_bound = false;
  for (Check c : {Check::element, Check::coherence, Check::row_sum, Check::normalizer})
    if (j.tally.at(c).judged > 0) {
      any_bound = true;
      ratio = std::max(ratio, j.tally.at(c).utilisation);
    }
  if (any_bound) r.max_bound_ratio = ratio;
  if (s.resolution.judged()) {
    r.resolution = s.resolution.of_element();
    r.resolution_sum = s.resolution.of_sum();
  }
  if (s.ulp.empty()) return;
  for (const Figure& f : kFigures) r.*f.value = f.measure(s);
  r.weak_share = static_cast<double>(s.weak) / s.count();
  r.worst = s.worst;
}

/// What the status depends on, in addition to the checks.
Grounds grounds_of(const Record& r, const Variant& variant, const Case& c, const Judgement& j) {
  Grounds g;
  g.ended = j.ended;
  g.fault = j.fault;
  g.kind = j.kind;
  if (j.tally.undecided() > 0)
    g.undecided = fmt::format("{} comparisons undecided", j.tally.undecided());
  else if (c.undecided() > 0)
    g.undecided = fmt::format("{} roundings undecided by MPFR at 4096 bits", c.undecided());
  if (r.rows > 0 && j.rows_judged == 0) g.nothing_judged = obstacle(Why::domain, j.outside_reason);
  // Errors that are not small could have passed.
  const Resolution& resolution = j.statistics.resolution;
  if (j.tally.unbounded() > 0 || resolution.over_limit() > 1) {
    const std::string seen =
        std::isfinite(resolution.of_element())
            ? fmt::format("a typical output may be off by {:.2g}", resolution.of_element())
            : "it has no finite bound";
    g.weak_is_outside = variant.claim.judgeable_rows_only;
    g.too_weak = g.weak_is_outside ? "coarse: the claimed arithmetic is too coarse to be judged here: " + seen
                                   : "bound too weak: " + seen;
  }
  if (j.rows_outside > 0)
    g.note = fmt::format("{} of {} rows outside the domain: {}", j.rows_outside, r.rows, j.outside_reason);
  return g;
}

/// Padding and merges with an identity add a few levels to V, the row length. A larger height would only give
/// a bound that judges nothing.
void judge_claim(Judgement& j, const Variant& variant, std::int64_t V) {
  if (!variant.claim.height) return;
  const std::int64_t height = variant.claim.height(V);
  if (!j.tally.require(Check::claim, height >= 0 && height <= V + kSpareLevels))
    j.tally.at(Check::claim).detail =
        fmt::format("height({}) = {}: no sum of {} terms is that high", V, height, V);
}

/// What keeps such a problem from being judged.
Obstacle unjudgeable(const Variant& variant, const Problem& p) {
  if (const std::string why = unjudged_dtype(variant); !why.empty()) return {Why::dtype, why};
  if (selects(p.op) && p.k > variant.max_k)
    return obstacle(Why::k, fmt::format("{} exceeds the variant's {}", p.k, variant.max_k));
  return {};
}

Record not_judged(Record r, const Obstacle& why) {
  r.status = Status::unsupported;
  r.why = why.why;
  r.reason = why.sentence;
  return r;
}

/// The nearest class of failed outputs is looked for only up to this many elements.

/// The two launches of a case, and how a judgement looks at them. They are made once; both tiers of the
/// oracle may judge them.
class Launches {
 public:
  Launches(const Variant& variant, const Case& c, const Problem& p, const CheckOptions& options)
      : variant_(variant),
        case_(c),
        draw_(drawn_for(c.family(), p.V, p.rows, options.seed)),
        first_(first_layout(p, options)),
        again_(drawn_layout(fitted(hostile_layout(), variant, p), 1)),
        p_(p),
        again_p_(first_rows(variant.claim, p)),
        plain_(variant, p_, c.logits(), first_, {c.gradients()}),
        hostile_(variant, again_p_, c.logits(), again_, {c.gradients()}),
        plain_outcome_(plain_.run()) {
    // A worker that died would die again.
    if (lived(plain_outcome_)) hostile_outcome_ = hostile_.run();
  }

  void judge(Judgement& j) {
    judge_claim(j, variant_, case_.V());
    const bool plain_ok = inspect(j, plain_, plain_outcome_);
    const bool hostile_ok = lived(plain_outcome_) && inspect(j, hostile_, hostile_outcome_);
    if (plain_ok) j.judge_rows(plain_, true);
    if (plain_ok && hostile_ok) {
      j.require_written(plain_, hostile_);
      judge_repeats(j);
    }
  }

  /// The nearest class of outputs that failed; long outputs are not judged a second time.
  NearestClass nearest(Op op) const {
    if (!plain_outcome_.ok() || p_.rows * p_.V > kLongestRejudged || op == Op::softmax_backward) return {};
    return nearest_class(variant_, case_, op, plain_);
  }

 private:
  /// What the outputs hold before the n-th launch. The first finds marks: all of its rows are judged, so that
  /// none stays unwritten unseen.
  Layout drawn_layout(Layout l, std::uint64_t n) const {
    l.draw = drawn(draw_, n);
    if (n > 0) l.outputs = stale_of(draw_, n);
    if (l.launch.schedule != 0) l.launch.schedule = std::max<std::uint64_t>(1, l.launch.schedule + draw_);
    return l;
  }
  Layout first_layout(const Problem& p, const CheckOptions& options) const {
    Layout l = plain_layout();
    l.offset = options.offset;
    l.launch = options.launch;
    l.in_gap = p.in_pitch - p.V;
    l.out_gap = p.out_pitch - p.out_columns();
    return drawn_layout(l, 0);
  }
  /// All rows of a case are judged in the first launch. The second launch needs only the first rows to show
  /// its faults.
  static Problem first_rows(const Claim& claim, Problem p) {
    // For a causal kernel, whole squares.
    const std::int64_t most = claim.causal == Causal::no || p.V == 0 ? 64 : std::max(p.V, 64 / p.V * p.V);
    p.rows = std::min(p.rows, most);
    return p;
  }

  static bool lived(const LaunchOutcome& o) { return o.ended != Ended::crashed && o.ended != Ended::hung; }

  bool inspect(Judgement& j, const GuardedLaunch& launch, const LaunchOutcome& outcome) const {
    if (outcome.ended == Ended::lost) {
      // The launch shows nothing about the kernel.
      if (j.ended == Ended::normally) j.ended = outcome.ended, j.fault = outcome.fault, j.kind = outcome.kind;
      return false;
    }
    if (!j.tally.require(Check::launch, outcome.ok()) && j.tally.first(Check::launch))
      j.tally.at(Check::launch)
          .take_violation({.cause = outcome.kind, .access = outcome.access}, outcome.fault);
    if (!lived(outcome) && j.ended == Ended::normally) {
      j.ended = outcome.ended;
      j.fault = outcome.fault;
    }
    if (!outcome.ok()) return false;
    launch.inspect(j.tally);
    // Only a launcher waits for late writes.
    if (variant_.launcher && !j.tally.require(Check::late_write, outcome.late_write.empty()) &&
        j.tally.first(Check::late_write))
      j.tally.at(Check::late_write).detail = outcome.late_write;
    return true;
  }

  void judge_repeats(Judgement& j) {
    std::string where;
    bool same = j.same_outputs(plain_, hostile_, &where);
    // Another layout may round differently. Then its outputs must also be right, and each layout must repeat
    // itself bit for bit under every schedule.
    if (!same) j.judge_rows(hostile_, false);
    if (variant_.claim.determinism == Determinism::not_guaranteed) return;
    if (!same) {
      same = true;
      for (int n = 1; n <= 4 && same; ++n) {
        const bool as_first = n <= 2;
        Layout again = as_first ? first_ : again_;
        again.poison = 1 - again.poison;
        again = drawn_layout(again, static_cast<std::uint64_t>(n) + 1);
        again.launch = {again_.launch.schedule + static_cast<std::uint64_t>(n), as_first ? 2 : 0};
        GuardedLaunch repeated(variant_, as_first ? p_ : again_p_, case_.logits(), again,
                               {case_.gradients()});
        same = inspect(j, repeated, repeated.run()) &&
               j.same_outputs(as_first ? plain_ : hostile_, repeated, &where);
      }
    }
    if (!j.tally.require(Check::repeat, same) && j.tally.first(Check::repeat))
      j.tally.at(Check::repeat).detail = "two launches on the same inputs differ: " + where;
  }

  const Variant& variant_;
  const Case& case_;
  const std::uint64_t draw_;
  const Layout first_, again_;
  const Problem p_, again_p_;
  GuardedLaunch plain_, hostile_;
  const LaunchOutcome plain_outcome_;
  LaunchOutcome hostile_outcome_;
};

/// A case outside the declared limits. If a worker can run it, the outputs are noted; they are no failure. A
/// candidate that died there once is not launched there again.
Record outside(Record r, const std::string& why, const Variant& variant, const Case& c, const Problem& p) {
  static std::mutex mutex;
  static std::set<std::string> died;
  const std::string who = variant.key() + " " + variant.origin;
  r = not_judged(std::move(r), obstacle(Why::domain, why));
  r.rows_outside = r.rows;
  {
    const std::lock_guard lock(mutex);
    if (!variant.launcher || died.contains(who)) return r;
  }
  Layout layout = plain_layout();
  layout.in_gap = p.in_pitch - p.V;
  layout.out_gap = p.out_pitch - p.out_columns();
  GuardedLaunch launch(variant, p, c.logits(), layout, {c.gradients()});
  const LaunchOutcome outcome = launch.run();
  if (outcome.ok()) {
    if (p.rows > 0 && p.out_columns() > 0) {
      std::vector<double> values;
      for (std::int64_t j = 0; j < p.out_columns(); ++j)
        values.push_back(decode(p.out, launch.value_bits(0, j)));
      r.returned = "row 0: " + describe_values(values);
    }
    return r;
  }
  r.returned = outcome.fault;
  if (outcome.ended == Ended::crashed || outcome.ended == Ended::hung) {
    const std::lock_guard lock(mutex);
    died.insert(who);
  }
  return r;
}

}  // namespace

Record concluded(Record r, const Variant& variant, const Case& c, Judgement& j) {
  r.rows_judged = j.rows_judged;
  r.rows_outside = j.rows_outside;
  r.returned = j.returned;
  r.lowest_maximum = j.lowest_maximum, r.highest_maximum = j.highest_maximum;
  fill_statistics(r, j);
  r.checks = j.tally.results();
  decide(r, grounds_of(r, variant, c, j));
  require_sane(r);
  return r;
}

Record judge_written(const Variant& variant, const Case& given, Op op, const Pick& pick,
                     const WrittenRows& written, const CheckOptions& options) {
  // A case of a backward pass already has its gradients.
  const Case& c = op == Op::softmax_backward ? given : as_seen_by(variant, op, given);
  Record r = blank_record(variant, c.family(), op, shape_of(c.rows(), c.V(), pick), c.seed());
  Obstacle cannot = unjudgeable(variant, written.problem());
  if (op == Op::softmax_backward && !c.gradients())
    cannot = obstacle(Why::op, "a backward pass also needs dy");
  if (cannot) return not_judged(std::move(r), cannot);
  if (const std::string why = beyond_limits(variant, written.problem()); !why.empty()) {
    r.rows_outside = r.rows;
    return not_judged(std::move(r), obstacle(Why::domain, why));
  }
  r = verdict(std::move(r), variant, c, op, {options.profile, options.max_ulp}, [&](Judgement& j) {
    judge_claim(j, variant, c.V());
    j.judge_rows(written, true);
  });
  if (r.status == Status::fail && options.nearest && r.behaves_like.empty() &&
      c.rows() * c.V() <= kLongestRejudged)
    nearest_class(variant, c, op, written).tell(r);
  return r;
}

Record check_case(const Variant& variant, const Case& given, Op op, const Pick& pick,
                  const CheckOptions& options) {
  const Case& c = as_seen_by(variant, op, given);
  Record r = blank_record(variant, c.family(), op, shape_of(c.rows(), c.V(), pick), c.seed());
  if (!variant.does(op))
    return not_judged(std::move(r),
                      obstacle(Why::op, std::string("the variant does not compute ") + name(op)));
  if (const Obstacle why = unjudgeable(variant, problem_of(variant, op, c.rows(), c.V(), pick, c.V())))
    return not_judged(std::move(r), why);
  if (std::string why = cannot_launch(variant); !why.empty()) {
    r.why = Why::device;
    r.reason = why;
    return r;
  }

  Problem p = problem_of(variant, op, c.rows(), c.V(), pick, options.pitch ? options.pitch : c.V());
  if (options.pitch == 0) {
    const Layout room = fitted(plain_layout(), variant, p);
    p.in_pitch += room.in_gap;
    p.out_pitch += room.out_gap;
  }
  if (const std::string why =
          beyond_limits(variant, p, options.offset * static_cast<std::int64_t>(size_of(variant.dtype)));
      !why.empty())
    return outside(std::move(r), why, variant, c, p);

  Launches launches(variant, c, p, options);
  const VerdictOptions how{options.profile, options.max_ulp, true, pick};
  r = verdict(std::move(r), variant, c, op, how, [&](Judgement& j) { launches.judge(j); });
  if (r.status == Status::fail && r.behaves_like.empty() && options.nearest) launches.nearest(op).tell(r);
  return r;
}

}  // namespace assay
