// Is a kernel right? Named groups of cases, each group with one thing that may go wrong in mind: every row
// length, every layout, launch after launch. Every case yields one record, so that a page, a summary and a
// one-line reproduction come with it; diagnosis.hpp says what the failing ones have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/registry.hpp"
#include "reference/oracle/oracle.hpp"
#include "reference/problem.hpp"

namespace assay {
struct ElementObserver;
}

namespace assay::conformance {

/// How much of each group: seconds, a minute or two, or all there is.
enum class Extent { quick, normal, full };

/// One case of a group alone, or a few. A group without a list of its own for a field ignores none: what no
/// case matches is an empty plan.
struct Narrowing {
  std::string family, setup;
  std::optional<std::int64_t> V, rows, pitch;
  std::optional<int> k;
  std::optional<Op> op;
};

/// One record to make. The family names the inputs; `setup` says what else the case varies ("offset_6").
struct ConformanceCase {
  std::string family;
  std::int64_t V = 0, rows = 1;
  Op op = Op::softmax;
  int k = 0;
  std::string setup = {};
  const Variant* variant = nullptr;  // the kernel, which outlives the run; null: the bench's own
};

class Bench;

/// Cases that share inputs, or a worker: run in order, by one thread. `run` emits one record per case; those
/// it does not emit are recorded as not run.
struct Unit {
  std::vector<ConformanceCase> cases;
  std::function<void(Bench&, const std::vector<ConformanceCase>&)> run;
  double weight = 1;       // roughly its time, for the order
  bool exclusive = false;  // no other exclusive unit at the same time: it keeps state of its own
};

/// What a group's plan depends on.
struct Planning {
  const Variant& variant;
  Extent extent = Extent::normal;
  Narrowing narrow;
  std::uint64_t seed = 1;
  bool named = false;  // the group was asked for by name
};

struct Group {
  const char* name;
  const char* why;  // one sentence
  std::vector<Unit> (*plan)(const Planning&);
  bool optional = false;  // only when it is asked for by name
  /// It starts a program of its own. The search for a contract runs it once, within what was found.
  bool costly = false;
};

/// Which of the chosen groups run.
enum class Part { all, cheap, costly };

/// The groups of groups/, in report order.
std::span<const Group> groups();

struct ConformanceOptions {
  std::vector<std::string> only;  // names of groups; empty: all but the optional ones
  std::vector<std::string> also;  // optional groups, beside those
  Part part = Part::all;  // of a part alone, which may be empty
  Extent extent = Extent::normal;
  Narrowing narrow;
  std::int64_t most_elements = 0;  // cases of more are not planned; 0: all are
  std::uint64_t seed = 1;
  /// Of the seconds that a launch of group `big` is given: less than 1 where a launch is to hang sooner.
  double patience = 1;
  std::optional<double> max_ulp;  // the author's own promise, a check of its own
  int threads = 0;                // 0: one per core
  std::string target;       // the words after `assay check` in every reproduce line; the variant's by default
  std::vector<Group> more;  // groups from elsewhere, after those
  Tier tier = Tier::fast;   // of the oracle
  /// The records of `assay report`: they name no group, and that command repeats them.
  bool report = false;
  std::string logits;  // .npy file whose first rows are every case's, in place of its family
  /// Who sees every judged element of a case of the group `families`; null: nobody. From any thread.
  std::function<std::unique_ptr<ElementObserver>(const Variant&, const ConformanceCase&)> observe;
  std::function<void(std::int64_t done, std::int64_t planned)> progress;  // from any thread, serialised
};

struct ConformanceResult {
  std::vector<Record> records;  // in plan order, not_run ones included
  std::int64_t planned = 0, executed = 0;
};

/// Runs the groups on a kernel. `make` gives a variant of its own to each thread: an isolated one has a
/// worker of its own. Throws InputError where a group is unknown or the plan is empty; never for a failing
/// kernel: after 10 hangs, or 20 crashes and ten seconds of them, a group is left, its other cases are
/// recorded as not run. Of row lengths that end the process few are launched (deaths.hpp).
ConformanceResult run_conformance(const std::function<Variant()>& make, const ConformanceOptions& options);

}  // namespace assay::conformance
