// SPDX-License-Identifier: Apache-2.0
// The tools to run a group's cases: one thread's variant, records with their identity filled in, one launch
// that is judged as a whole, and the functions that take the results.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "accuracy/case/case.hpp"
#include "accuracy/case/guarded.hpp"
#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/deaths.hpp"
#include "accuracy/reproduce.hpp"

namespace assay::conformance {

/// Counts the crashes and hangs of one group, over all threads, and says when to leave the group. Quick
/// crashes do not end it: the rest is left only after 20 crashes that took ten seconds together. Ten hangs
/// end it, because every hang costs its full wait and is looked at again anyway.
struct Patience {
  static constexpr int kCrashes = 20, kHangs = 10;
  static constexpr std::int64_t kCrashingNs = 10'000'000'000;
  std::atomic<int> crashes{0}, hangs{0};
  std::atomic<std::int64_t> crashing_ns{0};
  Deaths* deaths = nullptr;  // deaths of the whole run; null: every case is launched
  bool over() const { return (crashes >= kCrashes && crashing_ns >= kCrashingNs) || hangs >= kHangs; }
};

class Bench {
 public:
  Bench(Variant variant, const ConformanceOptions& options)
      : variant_(std::move(variant)), options_(options) {}

  /// The same bench for another variant: the kernel in a worker process, or under another claim.
  Bench with(Variant variant) const {
    Bench b = *this;
    b.variant_ = std::move(variant);
    return b;
  }

  const Variant& variant() const { return variant_; }
  /// The kernel of the case: the case's own one, or the bench's.
  const Variant& variant_of(const ConformanceCase& c) const { return c.variant ? *c.variant : variant_; }
  std::uint64_t seed() const { return options_.seed; }
  const ConformanceOptions& options() const { return options_; }

  /// Prepares for the next unit. `emit` takes the records of its cases.
  void enter(const Group& group, Patience& patience, std::function<void(std::size_t, Record)> emit);
  /// Hands over the record of case `i` of the unit.
  void emit(std::size_t i, Record r);
  /// False once the group has crashed or hung too often; then the rest is left.
  bool go_on() const { return !patience_->over() && !(options_.hangs && options_.hangs->over()); }

  /// A record with status not_run and a complete reproduce line.
  Record blank(const ConformanceCase& c) const;
  /// The command that repeats all cases of the group.
  std::string command_of_group(const ConformanceCase& c) const;
  Record unsupported(const ConformanceCase& c, const Obstacle& why, FaultKind wants = {}) const;

  /// Inputs of the case, or a different number of such rows. They come from a family of reference/, a family
  /// of inputs.hpp, or the file that the options name.
  Case inputs(const ConformanceCase& c) const { return inputs(c, c.rows); }
  Case inputs(const ConformanceCase& c, std::int64_t rows) const;

  Problem problem(const ConformanceCase& c) const;
  /// The layout, adapted to the declared limits (fitted in case/guarded.hpp).
  Layout fit(const ConformanceCase& c, const Layout& layout) const;
  /// `values`: the values of the operands; null: neutral ones.
  /// What the buffers hold before it is drawn: anew for each launch of a case.
  GuardedLaunch prepare(const ConformanceCase& c, const Case& inputs, const Layout& layout,
                        const OperandValues* values = nullptr) const {
    const Case& seen = as_seen_by(variant_of(c), c.op, inputs);
    return {variant_of(c), problem(c), seen.logits(), drawn_layout(c, layout), {seen.gradients(), values}};
  }
  /// Runs it; counts crashes and hangs.
  LaunchOutcome run(GuardedLaunch& launch) const;
  void count(const LaunchOutcome& outcome,
             std::chrono::nanoseconds took = std::chrono::milliseconds(500)) const;
  /// Notes whether a launch ended the process, and how long it took. `offset`: elements before the first row.
  void saw(const Problem& p, std::int64_t offset, bool died, std::chrono::nanoseconds took) const;

  /// Makes one launch and judges it as a whole: buffers, special values, bounds; by MPFR where fp64 leaves
  /// something open. The inputs may have more rows than the case.
  Record judge(const ConformanceCase& c, const Case& inputs, const Layout& layout,
               const OperandValues* values = nullptr) const;
  Record judge(const ConformanceCase& c, const Case& inputs, const GuardedLaunch& launch,
               const LaunchOutcome& outcome) const;

  /// A launch of many rows is waited for longer than others. Before the first one, a few rows show whether
  /// the kernel comes back at all. Returns how that launch hung; ok if it did not, or is not needed. `many`:
  /// so many rows are not waited for longer.
  LaunchOutcome few_rows_first(const ConformanceCase& c, std::int64_t many = 1 << 14) const;

  /// What of the case is outside what the variant declares or the launcher can do.
  Obstacle outside(const ConformanceCase& c, const Layout& layout) const;

 private:
  Repeat again(const ConformanceCase& c) const;
  /// Launches an empty row, or no rows, with a kernel that does not promise to accept them. The record is
  /// `unsupported`, and says what was returned.
  Record unpromised(const ConformanceCase& c, const Case& inputs, const Layout& layout,
                    const Obstacle& why) const;

  /// The layout as it fits, with what outputs hold before the next launch of this case. Where the layout says
  /// what they hold, they hold that.
  Layout drawn_layout(const ConformanceCase& c, const Layout& layout) const;

  Variant variant_;
  const ConformanceOptions& options_;
  const Group* group_ = nullptr;
  Patience* patience_ = nullptr;
  std::function<void(std::size_t, Record)> emit_;
  mutable bool died_unpromised_ = false;
  mutable std::uint64_t launches_ = 0;  // of this case
};

/// A launch that only a worker process can make.
Obstacle in_this_process();

/// Adds the checks and extremes of `one` to `all`, the record of a case with several launches. The detail of
/// a first failure begins with `where`.
void fold(Record& all, const Record& one, const std::string& where);

/// An exact check of a record: it is judged once, and fails with this detail unless it holds.
void require(Record& r, Check check, bool holds, const std::string& detail, FaultKind cause = {});

/// Sets status and reason of a record of several launches, after fold and require: status.hpp derives them
/// from its checks and from how the worst launch ended.
void settle(Record& r);

/// Where two launches on the same inputs differ: "row 0, element 3: 0x1p-4 and 0x1.8p-4"; empty if nowhere.
std::string difference(const Variant& variant, const Case& inputs, Op op, const GuardedLaunch& a,
                       const GuardedLaunch& b);

}  // namespace assay::conformance
