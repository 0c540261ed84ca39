// SPDX-License-Identifier: Apache-2.0
// Call after call in a new process, which with --quick serves several cases. This finds results that are
// cached by pointer or content, state that one call leaves for the next, and kernels that are right only at
// first. Unless the setup says otherwise, every call has new content. Every call is judged.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "kernels/candidate.hpp"

namespace assay::conformance {
namespace {

/// The same kernel for other types, in the same worker.
std::vector<Variant> siblings_of(const Variant& v) {
  return v.launcher ? v.launcher->siblings() : std::vector<Variant>();
}

/// The calls of one case, folded into its record.
class Calls {
 public:
  /// `goes_on`: the calls follow those of another case in the same process. `known`: of rows of this length
  /// the first call of a process fails.
  Calls(Bench& bench, const ConformanceCase& c, bool goes_on, bool known)
      : bench_(bench), case_(c), record_(bench.blank(c)), goes_on_(goes_on), known_(known) {
    if (bench.variant().launcher && !goes_on) bench.variant().launcher->restart();
  }

  bool go_on() const {
    return bench_.go_on() && record_.status != Status::crashed && record_.status != Status::hung;
  }

  /// Makes one call. `like`, if given, is the earlier call with the same content.
  void call(const ConformanceCase& c, Tensor logits, const Layout& layout = {}) {
    if (!go_on()) return;
    ++number_;
    if (const Obstacle why = bench_.outside(c, layout)) {
      record_.why = why.why;
      record_.returned = why.sentence;
      return;
    }
    const Case inputs(c.family, std::move(logits));
    const Record one = judged(bench_, c, inputs, layout);
    fold(record_, one, fmt::format("call {}", number_));
    if (one.status != Status::pass && one.status != Status::unsupported) tell_alone(c, inputs, layout);
  }
  /// Makes a call on new rows of the family.
  void fresh(ConformanceCase c, const Layout& layout = {}) {
    c.rows = whole_squares(bench_.variant(), c.V, c.rows);
    call(c, rows(c), layout);
  }
  /// The same, with the same kernel for another type.
  void fresh_of(const Variant& sibling, ConformanceCase c) {
    if (!go_on()) return;
    ++number_;
    c.rows = whole_squares(sibling, c.V, c.rows);
    const Bench other = bench_.with(sibling);
    if (other.outside(c, {})) return;
    const Case inputs = make_case(c.family, sibling, c.V, c.rows, bench_.seed() + 1000 * ++made_);
    const Record one = judged(other, c, inputs, {});
    if (one.status != Status::pass) {
      sibling.launcher->restart();
      // A fault that the other type has by itself is reported for its own key.
      if (judged(other, c, inputs, {}).status != Status::pass) return;
      record_.alone = Alone::passes;
    }
    fold(record_, one, fmt::format("call {}, of {}", number_, sibling.key()));
  }

  const Variant& variant() const { return bench_.variant(); }

  Tensor rows(const ConformanceCase& c) {
    return make_rows(c.family, bench_.variant().dtype, c.V, c.rows, bench_.seed() + 1000 * ++made_);
  }

  Record result() {
    settle(record_);
    return std::move(record_);
  }

 private:
  static Record judged(const Bench& bench, const ConformanceCase& c, const Case& inputs,
                       const Layout& layout) {
    GuardedLaunch launch = bench.prepare(c, inputs, layout);
    const LaunchOutcome outcome = bench.run(launch);
    return bench.judge(c, inputs, launch, outcome);
  }

  /// Finds out whether the first failing call also fails as the only call of a process. Then no other call is
  /// the cause.
  void tell_alone(const ConformanceCase& c, const Case& inputs, const Layout& layout) {
    Launcher* const launcher = bench_.variant().launcher.get();
    if (record_.alone != Alone::not_tried || !launcher) return;
    bool fails = number_ == 1 && (!goes_on_ || known_);
    if (!fails) {
      launcher->restart();
      fails = judged(bench_, c, inputs, layout).status != Status::pass;
    }
    record_.alone = fails ? Alone::fails : Alone::passes;
  }

  Bench& bench_;
  const ConformanceCase& case_;
  Record record_;
  const bool goes_on_, known_;
  int number_ = 0;
  std::uint64_t made_ = 0;
};

ConformanceCase with(ConformanceCase c, const char* family, std::int64_t V, std::int64_t rows) {
  c.family = family;
  c.V = V;
  c.rows = rows;
  return c;
}

void new_content(Calls& calls, const ConformanceCase& c) {
  for (int n = 0; n < 20; ++n) calls.fresh(c);
}

void call_200(Calls& calls, const ConformanceCase& c) {
  for (int n = 0; n < 200; ++n) calls.fresh(c);
}

void new_pointer(Calls& calls, const ConformanceCase& c) {
  Layout other;
  other.launch.slot = 1;
  const Tensor a = calls.rows(c);
  calls.call(c, a);
  calls.call(c, a, other);
  calls.fresh(c, other);
  calls.call(c, a);
}

void same_again(Calls& calls, const ConformanceCase& c) {
  const Tensor a = calls.rows(c);
  for (int n = 0; n < 3; ++n) {
    calls.call(c, a);
    calls.fresh(c);
  }
  calls.call(c, a);
}

/// One logit becomes the maximum; its place changes from call to call.
void one_changed(Calls& calls, const ConformanceCase& c) {
  const Tensor a = calls.rows(c);
  calls.call(c, a);
  for (int n = 0; n < 16 && c.V > 0; ++n) {
    Tensor t = a;
    for (std::int64_t r = 0; r < c.rows; ++r) t.set(r, (17 + 61 * n) % c.V, 8);
    calls.call(c, std::move(t));
  }
}

void small_large_small(Calls& calls, const ConformanceCase& c) {
  for (int n = 0; n < 2; ++n) {
    calls.fresh(with(c, "normal_1", 33, 1));
    calls.fresh(with(c, "normal_1", c.V, 5));
    calls.fresh(with(c, "normal_1", 1, 2));
    calls.fresh(with(c, "normal_1", 129, 300));
  }
}

/// What one call leaves in a workspace or in a static array must not affect the next.
void after_special(Calls& calls, const ConformanceCase& c) {
  for (const char* special : {"nan", "pos_inf", "all_neg_inf", "overflow"}) {
    calls.fresh(with(c, special, c.V, c.rows));
    calls.fresh(c);
  }
}

void op_order(Calls& calls, const ConformanceCase& c) {
  ConformanceCase other = c;
  other.op = Op::normalizer;
  other.pick = {};
  for (int n = 0; n < 3; ++n) {
    calls.fresh(c);
    calls.fresh(other);
  }
  calls.fresh(c);
}

/// What one type leaves in a table must not be used for another.
void dtype_order(Calls& calls, const ConformanceCase& c) {
  const std::vector<Variant> others = siblings_of(calls.variant());
  for (int n = 0; n < 2; ++n) {
    calls.fresh(c);
    for (const Variant& other : others) {
      calls.fresh_of(other, c);
      calls.fresh(c);
    }
  }
  // The other type first.
  for (const Variant& other : others) {
    ConformanceCase longer = c;
    longer.V = 2 * c.V + 1;
    calls.fresh_of(other, longer);
    calls.fresh(longer);
  }
}

/// More rows than two blocks on each of 132 multiprocessors, twice: once an odd number, once an even one.
/// This shows what a grid that draws its rows from a counter leaves in that counter.
void rows_again(Calls& calls, const ConformanceCase& c) {
  ConformanceCase few = c, even = c;
  const Limits& limits = calls.variant().limits;
  few.rows = nearest_rows(limits, 5);
  even.rows = nearest_rows(limits, c.rows + 1);
  for (const ConformanceCase& one : {c, c, few, c, even, even, c}) calls.fresh(one);
}

/// When its calls may follow those of other cases in one process, because these do not matter to what the
/// calls show. A process with a context on a device costs more than all of the calls in it.
enum class Joins {
  first,      // with --quick, but nothing comes before: buffers may grow with the calls
  on_device,  // with --quick on a GPU
  always,     // with --quick
};
struct Sequence {
  SetupKind setup;
  void (*run)(Calls&, const ConformanceCase&);
  const char* family;
  std::int64_t V, rows;
  Joins joins;
};
constexpr Sequence kSequences[] = {
    {SetupKind::new_content, new_content, "normal_1", 1027, 2, Joins::always},
    {SetupKind::new_pointer, new_pointer, "normal_1", 1027, 2, Joins::always},
    {SetupKind::same_again, same_again, "normal_1", 1027, 2, Joins::always},
    {SetupKind::one_changed, one_changed, "normal_1", 1027, 2, Joins::always},
    {SetupKind::same_head, new_content, kSameHead, 1027, 2, Joins::always},
    {SetupKind::small_large_small, small_large_small, "normal_1", 12289, 5, Joins::first},
    {SetupKind::rows_again, rows_again, "normal_1", 37, 1057, Joins::on_device},
    {SetupKind::after_special, after_special, "normal_1", 257, 2, Joins::on_device},
    {SetupKind::op_order, op_order, "normal_1", 257, 2, Joins::on_device},
    {SetupKind::dtype_order, dtype_order, "normal_1", 257, 2, Joins::on_device},
    {SetupKind::call_200, call_200, "normal_1", 257, 2, Joins::always},
};

/// Each case in a process of its own; those that join follow one another in one process. What is wrong there
/// is tried in a process of its own. On a GPU, where a process takes long, that is done once for each row
/// length: where the first call of a process fails, those after it need not be tried apart.
void run_calls(Bench& bench, const std::vector<ConformanceCase>& cases) {
  bool goes_on = false;
  std::set<std::int64_t> wrong;  // row lengths of which the first call of a process fails
  for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i) {
    const ConformanceCase& c = cases[i];
    const Sequence& s =
        *std::ranges::find_if(kSequences, [&](const Sequence& of) { return c.setup == of.setup; });
    const bool known = wrong.contains(c.V) && on_device(bench.variant());
    const auto record = [&](bool joined) {
      Calls calls(bench, c, joined, known);
      s.run(calls, c);
      return calls.result();
    };
    Launcher* const launcher = bench.variant().launcher.get();
    const auto disturbed = [&] { return launcher && launcher->disturbance().any(); };
    const bool joins = goes_on || known;
    Record r = record(joins);
    if (joins && !known && r.status != Status::pass && r.status != Status::unsupported) {
      const bool doubtful = disturbed();
      Record own = record(false);
      if (doubtful || own.status == Status::fail || own.status == Status::crashed || own.status == r.status) {
        r = std::move(own);
      } else {
        // Wrong after other calls alone: a second look that shows nothing changes nothing.
        disturbed();
        r.reproduce = bench.command_of_group(c);  // all that joined
      }
    }
    if (r.alone == Alone::fails) wrong.insert(c.V);
    goes_on = r.status == Status::pass;
    bench.emit(i, std::move(r));
  }
}

}  // namespace

std::vector<Unit> plan_calls(const Planning& p) {
  std::vector<Unit> units;
  Unit joined{{}, run_calls, 0};
  for (const Sequence& s : kSequences) {
    if (s.run == op_order && (op_of(p) == Op::normalizer || !p.variant.does(Op::normalizer))) continue;
    if (s.run == dtype_order && siblings_of(p.variant).empty()) continue;
    // This setup uses other lengths too, so it is left out when one length alone was asked for, unless it is
    // named.
    if (s.run == small_large_small && p.narrow.V && Setup(p.narrow.setup) != s.setup) continue;
    for (const std::int64_t V : sizes_of(p, {s.V}))
      for (const std::int64_t rows : rows_of(p, {s.rows}))
        for (const std::string& family : families_of(p, {s.family})) {
          const bool joins = p.extent == Extent::quick && (s.joins == Joins::always || on_device(p.variant));
          Unit alone{{}, run_calls, 0};
          Unit& unit = joins ? joined : alone;
          const bool first = joins && s.joins == Joins::first;
          unit.cases.insert(first ? unit.cases.begin() : unit.cases.end(),
                            {family, V, rows, op_of(p), pick_of(p, V), s.setup});
          unit.weight += 40 * weight_of(rows, V);
          if (!joins) units.push_back(std::move(alone));
        }
  }
  if (!joined.cases.empty()) units.push_back(std::move(joined));
  return units;
}

}  // namespace assay::conformance
