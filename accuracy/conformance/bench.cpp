// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <mutex>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/deaths.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/reproduce.hpp"
#include "accuracy/status.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "accuracy/verdict/verdict.hpp"
#include "reference/files/tensor_file.hpp"
#include "reference/text.hpp"

namespace assay::conformance {

void Bench::enter(const Group& group, Patience& patience, std::function<void(std::size_t, Record)> emit) {
  group_ = &group;
  patience_ = &patience;
  emit_ = std::move(emit);
  launches_ = 0;
}

void Bench::emit(std::size_t i, Record r) {
  launches_ = 0;
  emit_(i, std::move(r));
}

Layout Bench::drawn_layout(const ConformanceCase& c, const Layout& layout) const {
  Layout l = fit(c, layout);
  const std::uint64_t of_case =
      drawn_for(c.family + "|" + c.setup.text() + "|" + group_->name, c.V, c.rows, options_.seed);
  const std::uint64_t n = launches_++;
  l.draw = drawn(of_case, n);
  if (l.outputs == Stale::mark) l.outputs = stale_of(of_case, n);
  return l;
}

Record Bench::blank(const ConformanceCase& c) const {
  const Variant& v = variant_of(c);
  if (options_.report && c.family == kProbeFamily) return blank_probe(v);
  Record r = blank_record(v, c.family, c.op, c.shape(), options_.seed);
  if (!options_.report) r.group = group_->name, r.setup = c.setup;
  if (!options_.logits.empty()) r.seed = 0;
  r.reproduce = reproduce(again(c));
  return r;
}

std::string Bench::command_of_group(const ConformanceCase& c) const {
  Repeat all = again(c);
  all.family.clear(), all.setup.clear(), all.numbers.clear();
  return reproduce(all);
}

Repeat Bench::again(const ConformanceCase& c) const {
  const Variant& v = variant_of(c);
  Repeat again = repeat_of(v, c.family, c.op, c.shape(), options_.seed);
  again.pitch = options_.narrow.pitch;
  if (!options_.report) {
    again.words = "check " + (!options_.target.empty() ? options_.target
                              : v.origin.empty()       ? v.key()
                                                       : v.origin);
    again.group = group_->name;
    again.setup = c.setup.text();
    again.max_ulp = options_.max_ulp;
    // How long a group waits and how often it launches also depends on the extent.
    again.extent = options_.extent == Extent::quick ? "quick" : options_.extent == Extent::full ? "full" : "";
  }
  if (!options_.logits.empty()) {
    again.words += " --logits " + shell_quoted(std::filesystem::absolute(options_.logits).string());
    again.family.clear();
    std::erase_if(again.numbers, [](const Repeat::Number& n) { return n.part == SizePart::V; });
    again.seed.reset();
  }
  return again;
}

Record Bench::unsupported(const ConformanceCase& c, const Obstacle& why, FaultKind wants) const {
  Record r = blank(c);
  r.status = Status::unsupported;
  r.why = why.why;
  r.reason = why.sentence;
  r.wants = wants;
  return r;
}

Case Bench::inputs(const ConformanceCase& c, std::int64_t rows) const {
  if (options_.logits.empty())
    return Case(c.family, make_rows(c.family, variant_of(c).dtype, c.V, rows, options_.seed), options_.tier);
  const Bf16 bf16 = variant_of(c).dtype == Dtype::bf16 ? Bf16::as_u2 : Bf16::refused;
  Tensor t = tensor_of(read_stored(options_.logits, "logits"), bf16);
  t.rows = std::min(t.rows, rows);
  t.bytes.resize(static_cast<std::size_t>(t.rows * t.V) * size_of(t.dtype));
  return Case(c.family, std::move(t), options_.tier);
}

namespace {

/// The largest power of two, in bytes, of which all rows of logits start at a multiple. Buffers start at a
/// multiple of 256.
std::int64_t alignment_of_rows(const Problem& p, std::int64_t offset) {
  const auto element = static_cast<std::uint64_t>(size_of(p.in));
  std::uint64_t bits = 256 | static_cast<std::uint64_t>(offset) * element;
  if (p.rows > 1) bits |= static_cast<std::uint64_t>(p.in_pitch) * element;
  return std::int64_t{1} << std::countr_zero(bits);
}

}  // namespace

Problem Bench::problem(const ConformanceCase& c) const {
  return problem_of(variant_of(c), c.op, c.rows, c.V, c.pick, c.V);
}

LaunchOutcome Bench::run(GuardedLaunch& launch) const {
  Hangs* const hangs = options_.hangs.get();
  const auto turn = hangs ? hangs->turn() : std::unique_lock<std::mutex>();
  if (!LaunchesWhile::go_on()) return not_made();
  const auto begin = std::chrono::steady_clock::now();
  LaunchOutcome outcome = launch.run();
  const std::chrono::nanoseconds waited = std::chrono::steady_clock::now() - begin,
                                 took = outcome.took.count() > 0 ? outcome.took : waited;
  count(outcome, took);
  if (hangs && outcome.ok()) hangs->came_back(launch.problem().V);
  if (outcome.ok() || outcome.ended == Ended::crashed)
    saw(launch.problem(), launch.layout().offset, !outcome.ok(), took);
  return outcome;
}

void Bench::saw(const Problem& p, std::int64_t offset, bool died, std::chrono::nanoseconds took) const {
  if (patience_->deaths && p.V > 0) patience_->deaths->saw(p.V, alignment_of_rows(p, offset), died, took);
}

void Bench::count(const LaunchOutcome& outcome, std::chrono::nanoseconds took) const {
  if (options_.hangs && (outcome.ok() || outcome.ended == Ended::fault)) options_.hangs->answered();
  if (outcome.ended == Ended::crashed) {
    ++patience_->crashes;
    patience_->crashing_ns += took.count();
    if (options_.hangs) options_.hangs->saw_crash(says_no(outcome.kind));
  }
  if (outcome.ended != Ended::hung) return;
  ++patience_->hangs;
  if (!options_.hangs) return;
  options_.hangs->saw(took);
  if (!options_.tell) return;
  const int n = options_.hangs->count();
  if (n < Hangs::kShown)
    options_.tell(fmt::format("{}: a launch hung after {:.0f} s", variant_.key(),
                              std::chrono::duration<double>(took).count()));
  else if (n == Hangs::kShown)
    options_.tell(
        options_.hangs->over()
            ? fmt::format("{}: {} launches hung, and none came back: the rest is left", variant_.key(), n)
            : fmt::format("{}: {} launches hung: hanging ones may take {} s more, then the rest is left",
                          variant_.key(), n, Hangs::kMostNs / 1'000'000'000));
}

Layout Bench::fit(const ConformanceCase& c, const Layout& layout) const {
  return fitted(layout, variant_of(c), problem(c));
}

Obstacle in_this_process() { return obstacle(Why::launcher, "the kernel runs in this process"); }

Obstacle Bench::outside(const ConformanceCase& c, const Layout& layout) const {
  const Variant& v = variant_of(c);
  if (!v.does(c.op)) return obstacle(Why::op, fmt::format("the variant does not compute {}", name(c.op)));
  if (const std::string why = unjudged_dtype(v); !why.empty()) return {Why::dtype, why};
  if (selects(c.op) && c.pick.k > v.max_k)
    return obstacle(Why::k, fmt::format("{} exceeds the variant's {}", c.pick.k, v.max_k));
  const Layout fits = fit(c, layout);
  const bool asked =
      layout.in_gap != 0 || layout.out_gap != 0 || layout.offset != 0 || layout.out_offset != 0;
  const bool other = fits.in_gap != layout.in_gap || fits.out_gap != layout.out_gap ||
                     fits.offset != layout.offset || fits.out_offset != layout.out_offset;
  const Layout& l = asked && other ? layout : fits;
  Problem p = problem(c);
  p.in_pitch = p.V + l.in_gap;
  p.out_pitch = p.out_columns() + l.out_gap;
  for (const std::int64_t bytes : {l.offset * static_cast<std::int64_t>(size_of(p.in)),
                                   (l.offset + l.out_offset) * static_cast<std::int64_t>(size_of(p.out))})
    if (const std::string why = beyond_limits(v, p, bytes); !why.empty()) return obstacle(Why::domain, why);
  if (layout.launch.in_place && !v.claim.in_place)
    return obstacle(Why::in_place, "the variant does not claim it");
  if (v.launcher) {
    if (const std::string why = v.launcher->cannot(layout.launch); !why.empty())
      return obstacle(Why::launcher, why);
    if (patience_ && patience_->deaths && c.V > 0)
      return patience_->deaths->leaves_out(
          c.V, alignment_of_rows(p, l.offset),
          std::hash<std::string>()(c.family + c.setup.text()) + static_cast<std::uint64_t>(c.V + c.rows));
  } else if (layout.launch.page_end || layout.launch.delayed_producer || layout.launch.slot != 0) {
    return in_this_process();
  }
  return {};
}

Record Bench::unpromised(const ConformanceCase& c, const Case& inputs, const Layout& layout,
                         const Obstacle& why) const {
  Record r = unsupported(c, why);
  r.rows_outside = c.rows;
  Launcher* const launcher = variant_of(c).launcher.get();
  // Each of these costs a new process, so one case of a run is enough, unless it was asked for.
  const bool asked = options_.narrow.V || options_.narrow.rows;
  if (!asked && std::string_view(group_->name) != (c.rows == 0 ? "rows" : "shapes")) return r;
  if (!launcher || died_unpromised_ || patience_->hangs > 0) return r;
  GuardedLaunch launch = prepare(c, inputs, layout);
  // No kernel is judged by this launch: it gets less than the usual wait, and is not looked at again.
  launcher->be_patient(0.7);
  const LaunchOutcome outcome = launch.run();
  launcher->be_patient(1);
  launcher->disturbance();
  died_unpromised_ = outcome.ended == Ended::crashed || outcome.ended == Ended::hung;
  r.unpromised = outcome.ok() ? Unpromised::came_back : Unpromised::fault;
  r.returned = outcome.ok() ? "the launch came back" : outcome.fault;
  // What it did to its process must not affect later cases. A launcher that refused did nothing.
  if (outcome.ok() || !says_no(outcome.kind)) launcher->restart();
  return r;
}

Record Bench::judge(const ConformanceCase& c, const Case& inputs, const Layout& layout,
                    const OperandValues* values) const {
  if (const Obstacle why = outside(c, layout)) {
    const Limits& l = variant_of(c).limits;
    const bool empty = (c.V == 0 && l.min_V > 0) || (c.rows == 0 && l.min_rows > 0);
    return empty ? unpromised(c, inputs, layout, why) : unsupported(c, why);
  }
  GuardedLaunch launch = prepare(c, inputs, layout, values);
  LaunchOutcome outcome = few_rows_first(c);
  if (outcome.ok()) outcome = run(launch);
  return judge(c, inputs, launch, outcome);
}

LaunchOutcome Bench::few_rows_first(const ConformanceCase& c, std::int64_t many) const {
  constexpr std::int64_t kFew = 3;
  const Variant& v = variant_of(c);
  if (c.rows <= many || !v.launcher || !options_.hangs || options_.hangs->has_come_back(c.V)) return {};
  const std::int64_t least = std::max<std::int64_t>(kFew, v.limits.min_rows),
                     step = std::max<std::int64_t>(1, v.limits.rows_multiple);
  ConformanceCase few = c;
  few.rows = v.claim.causal == Causal::no ? (least + step - 1) / step * step : c.V;
  if (few.rows >= c.rows || outside(few, {})) return {};
  const Case rows = inputs(few);
  GuardedLaunch launch = prepare(few, rows, {});
  --launches_;  // it is made only where none has come back yet
  LaunchOutcome outcome = run(launch);
  if (outcome.ended != Ended::hung) return {};
  outcome.fault = fmt::format("{} rows of the same length: {}", few.rows, outcome.fault);
  return outcome;
}

Record Bench::judge(const ConformanceCase& c, const Case& inputs, const GuardedLaunch& launch,
                    const LaunchOutcome& outcome) const {
  const Variant& v = variant_of(c);
  const auto look = [&](Judgement& j) {
    if (outcome.ended == Ended::lost) {
      j.ended = outcome.ended;
      j.fault = outcome.fault;
      j.kind = outcome.kind;
      return;
    }
    if (!j.tally.require(Check::launch, outcome.ok()) && j.tally.first(Check::launch))
      j.tally.at(Check::launch)
          .take_violation({.cause = outcome.kind, .access = outcome.access}, outcome.fault);
    if (outcome.ended == Ended::crashed || outcome.ended == Ended::hung) {
      j.ended = outcome.ended;
      j.fault = outcome.fault;
    }
    if (!outcome.ok()) return;
    launch.inspect(j.tally);
    j.judge_rows(launch, true);
    if (!launch.layout().launch.in_place) j.require_written(launch, launch);
    if (v.launcher && !j.tally.require(Check::late_write, outcome.late_write.empty()))
      j.tally.at(Check::late_write).detail = outcome.late_write;
  };
  const VerdictOptions how{nullptr, options_.max_ulp, true, c.pick};
  return verdict(blank(c), v, as_seen_by(v, c.op, inputs), c.op, how, look);
}

namespace {
CheckResult& check_of(Record& r, Check check) {
  for (CheckResult& c : r.checks)
    if (c.check == check) return c;
  r.checks.push_back({});
  r.checks.back().check = check;
  return r.checks.back();
}
}  // namespace

void fold(Record& all, const Record& one, const std::string& where) {
  for (const CheckResult& c : one.checks) {
    CheckResult& sum = check_of(all, c.check);
    if (sum.failed == 0 && c.failed > 0) {
      sum.take_violation(c, where + ": " + c.detail);
      sum.row.reset();  // it is a row of that launch, and not of the case
    }
    sum.judged += c.judged;
    sum.failed += c.failed;
    sum.undecided += c.undecided;
    sum.utilisation = std::max(sum.utilisation, c.utilisation);
  }
  const auto larger = [](std::optional<double>& a, const std::optional<double>& b) {
    if (b && !(a && *a >= *b)) a = b;
  };
  if (one.max_ulp && !(all.max_ulp && *all.max_ulp >= *one.max_ulp)) all.worst = one.worst;
  for (const Figure& f : kFigures)
    if (f.largest_of_launches) larger(all.*f.value, one.*f.value);
  larger(all.max_bound_ratio, one.max_bound_ratio);
  larger(all.highest_maximum, one.highest_maximum);
  if (one.lowest_maximum && !(all.lowest_maximum && *all.lowest_maximum <= *one.lowest_maximum))
    all.lowest_maximum = one.lowest_maximum;
  all.rows_judged += one.rows_judged;
  all.rows_outside += one.rows_outside;
  all.escalated += one.escalated;
  const auto rank = [](Status s) {
    return s == Status::hung ? 4 : s == Status::crashed ? 3 : s == Status::inconclusive ? 1 : 0;
  };
  if (rank(one.status) > rank(all.status)) {
    all.status = one.status;
    all.reason = where + ": " + one.reason;
  }
  // A launch whose pass would mean nothing makes the case mean nothing, however many others were judged.
  if (one.status == Status::unsupported &&
      (all.why == Why::none || (one.why == Why::coarse && all.why != Why::coarse))) {
    all.why = one.why;
    if (all.returned.empty() || one.why == Why::coarse) all.returned = one.reason;
  }
}

void require(Record& r, Check check, bool holds, const std::string& detail, FaultKind cause) {
  CheckResult& c = check_of(r, check);
  ++c.judged;
  if (holds) return;
  if (c.failed++ == 0) c.detail = detail, c.cause = cause;
}

void settle(Record& r) {
  Grounds g;
  if (r.status == Status::crashed || r.status == Status::hung) {
    g.ended = r.status == Status::crashed ? Ended::crashed : Ended::hung;
    g.fault = r.reason;
  }
  if (r.status == Status::inconclusive) g.undecided = r.reason;
  // Of a record that was concluded before, its reason; of launches that were folded into it, what they said.
  const std::string& said = r.status == Status::unsupported && !r.reason.empty() ? r.reason : r.returned;
  if (r.rows_judged == 0 && r.rows > 0)
    g.nothing_judged = r.why == Why::none || said.empty()
                           ? obstacle(r.why == Why::none ? Why::domain : r.why, "no row could be judged")
                           : Obstacle{r.why, said};
  if (r.why == Why::coarse) g.too_weak = said, g.weak_is_outside = true;
  decide(r, g);
}

std::string difference(const Variant& variant, const Case& inputs, Op op, const GuardedLaunch& a,
                       const GuardedLaunch& b) {
  std::string where;
  return Judgement(variant, as_seen_by(variant, op, inputs), op, nullptr).same_outputs(a, b, &where) ? ""
                                                                                                     : where;
}

}  // namespace assay::conformance
