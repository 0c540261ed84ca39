// SPDX-License-Identifier: Apache-2.0
// Is a kernel right? Named groups of cases answer this. Each group looks for one thing that may go wrong:
// every row length V, every layout, repeated launches. Every case makes one record, from which a page, a
// summary and a one-line reproduction are made. diagnosis.hpp says what the failing cases have in common.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/conformance/deaths.hpp"
#include "accuracy/engine.hpp"
#include "accuracy/record.hpp"
#include "kernels/registry.hpp"
#include "reference/k_range.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {
struct ErrorProfile;
}

namespace assay::conformance {

/// How much of each group is run: for seconds, for a minute or two, or everything.
enum class Extent { quick, normal, full };

/// Selects one case of a group, or a few. No group ignores a field: if no case matches, the plan is empty.
struct Narrowing {
  std::string family, setup;
  std::optional<std::int64_t> V, rows, pitch;
  AskedPick pick;
  std::optional<Op> op;
};

/// One case makes one record. The family names the inputs; `setup` says what else the case varies
/// ("offset_6").
struct ConformanceCase {
  std::string family;
  std::int64_t V = 0, rows = 1;
  Op op = Op::softmax;
  Pick pick = {};
  Setup setup = {};
  const Variant* variant = nullptr;  // the kernel, which must outlive the run; null: the bench's own
  std::array<std::int64_t, kMostFurther> further = {};  // numbers that only this op has

  CaseShape shape() const { return {rows, V, pick.k, pick.threshold, further}; }
};

class Bench;

/// Cases that share inputs, or a worker process. One thread runs them in order. `run` emits one record per
/// case; a case without one is recorded as not run.
struct Unit {
  std::vector<ConformanceCase> cases;
  std::function<void(Bench&, const std::vector<ConformanceCase>&)> run;
  double weight = 1;       // roughly its time; orders the units
  bool later = false;      // as in a group of Stage::later
  bool exclusive = false;  // never runs beside another exclusive unit, because it keeps state
};

/// What a group's plan depends on.
struct Planning {
  const Variant& variant;
  Extent extent = Extent::normal;
  Narrowing narrow;
  std::uint64_t seed = 1;
  bool named = false;  // the group was asked for by name
};

/// When a group's cases run. The search for a contract makes several runs of `first`. Where a case of those
/// fails, `later` waits until no more limits are found: these take many launches, or processes of their own.
/// `last` starts a separate program, once, within the contract that was found.
enum class Stage { first, later, last };

struct Group {
  const char* name;
  const char* why;  // one sentence
  std::vector<Unit> (*plan)(const Planning&);
  bool optional = false;  // only when it is asked for by name
  Stage stage = Stage::first;
  /// Its launches may be made together with those of other threads: no case starts a process or compares
  /// launches in time.
  bool together = false;
};

/// The group that launches for a tool that watches. It judges no outputs, so its passes alone are no PASS.
inline constexpr const char* kLaunchesGroup = "launches";

/// The groups of groups/, in report order.
std::span<const Group> groups();

struct ConformanceOptions {
  std::vector<std::string> only;  // names of groups; empty: all but the optional ones
  std::vector<std::string> also;  // optional groups, in addition to those
  Extent extent = Extent::normal;
  Narrowing narrow;
  std::int64_t most_elements = 0;  // larger cases are not planned; 0: all cases are
  std::uint64_t seed = 1;
  /// A factor for the time that a launch of group `big` may take: less than 1 to call a launch hung sooner.
  double patience = 1;
  std::optional<double> max_ulp;  // the author's own promise; a separate check
  int threads = 0;                // 0: one per core
  std::string target;       // the words after `assay check` in every reproduce line; the variant's by default
  std::vector<Group> more;  // groups from other sources, after those
  Tier tier = Tier::fast;   // of the oracle
  /// Once a case is wrong, the rest is left; in a search for a contract, once no limit can explain it.
  bool fail_fast = false;
  /// For that: whether a failing case is reason enough. Empty: every one is.
  std::function<bool(const Record&)> enough = {};
  /// True for the records of `assay report`: they name no group, and that command repeats them.
  bool report = false;
  std::string logits;  // .npy file; its first rows replace the family in every case
  /// The profile that every judged element of a case of the group `families` adds to; null: none. Called from
  /// any thread.
  std::function<ErrorProfile*(const Variant&, const ConformanceCase&)> profile;
  std::function<void(std::int64_t done, std::int64_t planned)> progress;  // from any thread, serialised
  /// Where records are kept that will not change any more, but for what is derived from all at the end.
  Kept kept = {};
  /// True for cases that are made again although their record was kept; may be empty.
  std::function<bool(const ConformanceCase&)> again = {};
  /// Shared by all runs on one kernel; null: hangs are only counted by group.
  std::shared_ptr<Hangs> hangs = {};
  /// The record of this identity from an earlier run on the kernel, if the case's launch and its judgement
  /// would be the same now; null if there is none. May be empty.
  std::function<const Record*(const std::string& identity)> known = {};
  /// Called when something needs words while the run goes on. From any thread; may be empty.
  std::function<void(const std::string& words)> tell;
  /// The run among others that keep records in one place; the search for a contract makes several.
  std::string run_name = {};
  /// True: once a case failed, Stage::later waits for go_on() (conformance_run.hpp).
  bool hold = false;
};

struct ConformanceResult {
  std::vector<Record> records;  // in plan order, not_run ones included
  std::int64_t planned = 0, executed = 0;
};

/// Runs the groups on a kernel. `make` gives a thread its own variant; an isolated variant has its own
/// worker process. Throws InputError if a group is unknown or the plan is empty, but never because a kernel
/// fails. After 10 hangs, or after 20 crashes that took ten seconds, a group is left and its other cases are
/// recorded as not run. Row lengths that end the process are launched only a few times (deaths.hpp).
ConformanceResult run_conformance(const std::function<Variant()>& make, const ConformanceOptions& options);

}  // namespace assay::conformance
