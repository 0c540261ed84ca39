// SPDX-License-Identifier: Apache-2.0
// Counts the records of one key.
#include "reports/data/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <unordered_set>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/status.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/inputs/inputs.hpp"
#include "reports/data/html.hpp"

namespace assay {
namespace {

/// The same text, kept as long as the program runs. There are few different keys and families.
std::string_view kept(const std::string& text) {
  static std::mutex mutex;
  static std::unordered_set<std::string> all;
  const std::lock_guard<std::mutex> lock(mutex);
  return *all.insert(text).first;
}

/// True for families whose rows every caller relies on: no NaN, no +inf, a finite logit in every row, and no
/// logit beyond 10,000.
bool in_core(const std::string& family) {
  const Family* const f = find_family(family);
  if (family == kProbeFamily || family == conformance::kMagnitudes) return false;
  return !f || f->kind != FamilyKind::special || (f->traits & (trait::parts | trait::bottom)) == trait::parts;
}

const CheckResult* guilty_check(const Record& r) {
  for (const CheckResult& c : r.checks)
    if (r.status == Status::inconclusive ? c.undecided > 0 : c.failed > 0) return &c;
  return nullptr;
}

void add_cause(std::vector<Cause>& causes, const Record& r) {
  const CheckResult* check = guilty_check(r);
  const char* const label = check ? name(check->check) : name(r.status);
  for (Cause& c : causes)
    if (c.check == label && c.status == r.status) {
      ++c.count;
      return;
    }
  const std::string detail = check && !check->detail.empty() ? check->detail : r.reason;
  causes.push_back({r.key, label, r.status, 1, r.family, detail, r.reproduce, r.V});
}

bool is_special(const Record& r) {
  if (r.status == Status::not_run || r.V <= 0) return false;
  if (const Family* f = find_family(r.family); f && f->kind == FamilyKind::special) return true;
  return !r.returned.empty() && was_judged(r) && r.rows_outside == 0;
}

/// "row 3: NaN x1024, 0 x1" becomes "NaN, 0": without counts, rows of every V give the same text.
std::string kinds(std::string_view returned) {
  const auto digit = [&](std::size_t i) {
    return i < returned.size() && returned[i] >= '0' && returned[i] <= '9';
  };
  std::size_t i = 0;
  if (returned.starts_with("row ")) {
    for (i = 4; digit(i);) ++i;
    i = returned.substr(i).starts_with(": ") ? i + 2 : 0;
  }
  std::string out;
  while (i < returned.size()) {
    if (returned.substr(i).starts_with(" x") && digit(i + 2)) {
      for (i += 2; digit(i);) ++i;
    } else {
      out += returned[i++];
    }
  }
  return shorten(out, 120);
}

/// What a reason is counted under. Older files have reasons of no known kind.
std::string word_of(const Record& r) {
  if (r.why != Why::none) return name(r.why);
  return r.reason.empty() ? "no reason given" : r.reason.substr(0, r.reason.find(':'));
}

WorstRecord worst_record(const Record& r) {
  return {kept(r.key), kept(r.family), r.V, r.max_bound_ratio, excess_ratio(r), *r.worst, r.reproduce};
}

}  // namespace

void add_reason(std::vector<Reason>& reasons, const Reason& one) {
  auto it = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& r) { return r.word == one.word; });
  if (it == reasons.end()) it = reasons.insert(reasons.end(), {one.why, one.word, one.example, 0});
  it->count += one.count;
}

void Extreme::take(double v, const Record& r) {
  if (std::isnan(v) || (any() && !(v > value))) return;
  value = v;
  key = kept(r.key), family = kept(r.family), V = r.V;
}

void Extreme::take(const Extreme& other) {
  if (other.any() && (!any() || other.value > value)) *this = other;
}

void CoarsestResolution::take_resolution(const Record& r) {
  const double before = value;
  const bool first = !any();
  take(*r.resolution, r);
  if (first || value != before) row = r.resolution_sum.value_or(0);
}

void WorstList::take(double value, const Record& r) {
  if (std::isnan(value)) return;
  const std::string_view family = kept(r.family);
  const auto at = by_family_.find(family);
  if (at != by_family_.end()) {
    if (value > at->second.first) at->second = {value, worst_record(r)};
    return;
  }
  if (by_family_.size() == 2 * kMost) {
    const auto least =
        std::min_element(by_family_.begin(), by_family_.end(),
                         [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
    if (value <= least->second.first) return;
    by_family_.erase(least);
  }
  by_family_.emplace(family, std::make_pair(value, worst_record(r)));
}

std::vector<std::pair<double, const WorstRecord*>> WorstList::sorted() const {
  std::vector<std::pair<double, const WorstRecord*>> out;
  for (const auto& [family, one] : by_family_) out.emplace_back(one.first, &one.second);
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (out.size() > kMost) out.resize(kMost);
  return out;
}

bool was_judged(const Record& r) { return r.status != Status::unsupported && r.status != Status::not_run; }

bool is_real_family(std::string_view family) {
  return family.starts_with("gpt_") || family.starts_with("attention");
}

bool is_ordinary_family(std::string_view family) {
  return is_real_family(family) || family == "normal_1" || (family != kProbeFamily && !find_family(family));
}

std::optional<double> excess_ratio(const Record& r) {
  if (r.dtype == name(Dtype::f16) || r.dtype == name(Dtype::bf16)) {
    const CheckResult* element = find_check(r, Check::element);
    return element && element->judged > 0 ? std::optional(element->utilisation) : std::nullopt;
  }
  if (!r.worst || !r.max_ulp || std::isnan(r.worst->ulp_error)) return std::nullopt;
  const double error = r.worst->ulp_error, ratio = r.worst->bound_ratio;
  if (error <= 0.5) return 0;
  if (!(ratio > 0)) return std::nullopt;
  if (!std::isfinite(error) || !std::isfinite(ratio)) return INFINITY;
  const double bound = error / ratio;
  return bound > 0.5 ? (error - 0.5) / (bound - 0.5) : INFINITY;
}

void JudgedCounts::take(const Record& r) {
  if (r.status == Status::pass && r.group != conformance::kLaunchesGroup)
    rows += r.swept ? r.swept->rows_judged : r.rows_judged;
  if ((was_judged(r) || too_coarse(r)) && r.V > 0 && r.rows > 0 && r.group != "properties") {
    for (const std::int64_t V : lengths_in(r)) lengths.insert(V);
    most_rows = std::max(most_rows, r.rows);
  }
  const bool of_core = (r.group == "families" || r.group == "shapes" || r.group == "rows") && r.V > 0 &&
                       r.rows > 0 && in_core(r.family) && r.wants == FaultKind::none && !too_coarse(r);
  if (!of_core || r.status == Status::not_run) return;
  core += cases_in(r);
  core_beyond += r.status == Status::unsupported;
}

std::string JudgedCounts::misfit(const Limits& limits) const {
  constexpr std::int64_t kTo = 4096;  // every check has lengths up to this
  std::int64_t allowed = 0;
  for (std::int64_t V = std::max<std::int64_t>(1, limits.min_V); V <= kTo && allowed < kFewestLengths; ++V)
    allowed +=
        (limits.max_V == 0 || V <= limits.max_V) && V % limits.V_multiple == 0 &&
        (limits.max_elements == 0 ||
         V * std::max<std::int64_t>({1, limits.min_rows, limits.rows_multiple}) <= limits.max_elements) &&
        (limits.V_in.count == 0 || limits.V_in.contains(V));
  const std::int64_t judged = std::ssize(lengths);
  if (judged >= allowed) return {};
  return fmt::format("its limits allow {} row lengths and more, and rows of {} were judged{}", allowed,
                     judged, judged == 0 ? "" : fmt::format(" (V = {})", *lengths.begin()));
}

double most_wrong(std::int64_t rows) {
  return std::min(1.0, 3 / static_cast<double>(std::max<std::int64_t>(rows, 1)));
}

std::string rows_line(std::int64_t rows) {
  if (rows < 1) return {};
  return fmt::format(
      "rows: {} were judged, and all are right: of rows like these at most {:.1e} are wrong (3/N, at 95 %)",
      grouped(rows), most_wrong(rows));
}

void KeyTally::take(const Record& r) {
  require_sane(r);
  judged.take(r);
  status[r.status] += cases_in(r);
  escalated += r.escalated > 0;
  if (r.status == Status::pass && r.group == conformance::kLaunchesGroup)
    ++launches_passed;
  else if (r.status == Status::pass && is_empty(r))
    ++empty_passed;
  if (was_judged(r) && r.status != Status::pass) add_cause(causes, r);
  seed = r.seed;
  coarse += too_coarse(r);
  if (r.status == Status::unsupported) add_reason(unsupported, {r.why, word_of(r), r.reason, 1});
  passes.take(r);
  if (r.group.empty() || r.group == "families") take_accuracy(r);
}

void KeyTally::take_accuracy(const Record& r) {
  if (r.status == Status::not_run) return;
  FamilyTally& family = families[r.family];
  ++family.records;
  family.passed += r.status == Status::pass;
  if (is_special(r) && family.said.size() < 64) family.said.insert({r.status, kinds(r.returned)});
  take_outside(r);
  if (r.family == kProbeFamily && probes.size() < 4) probes.push_back(r);
  // If arithmetic is too coarse for a verdict, its errors are known nevertheless.
  if (was_judged(r) || r.max_ulp) take_figures(r);
  if (!was_judged(r)) return;
  if (const auto e = excess_ratio(r)) family.excess.take(*e, r);
  if (r.max_bound_ratio) family.bound.take(*r.max_bound_ratio, r);
  if (r.max_ulp) family.ulp.take(*r.max_ulp, r);
  if (r.V >= 1) {
    AtSize& at = sizes[r.V];
    if (r.max_bound_ratio && std::isfinite(*r.max_bound_ratio)) at.bound.take(*r.max_bound_ratio, r);
    if (r.max_ulp && std::isfinite(*r.max_ulp)) at.ulp.take(*r.max_ulp, r);
  }
  if (has_resolution(r)) {
    std::size_t i = 0;
    while (i < kLengthSteps.size() && r.V > kLengthSteps[i]) ++i;
    resolution[i].take_resolution(r);
  }
  for (const CheckResult& c : r.checks)
    for (std::size_t i = 0; i < std::size(kBoundChecks); ++i)
      if (std::string_view(name(c.check)) == kBoundChecks[i]) {
        checks[i].judged += c.judged;
        checks[i].largest.take(c.utilisation, r);
      }
  if (!r.worst) return;
  if (r.max_bound_ratio && (!worst_bound || *r.max_bound_ratio > worst_bound->first))
    worst_bound.emplace(*r.max_bound_ratio, worst_record(r));
  if (r.worst->ulp_error < kRounded) {
    ++rounded_records;
    return;
  }
  if (r.max_ulp) worst_ulp.take(*r.max_ulp, r);
  if (const auto e = excess_ratio(r)) worst_excess.take(*e, r);
}

void KeyTally::take_figures(const Record& r) {
  if (was_judged(r) && r.max_bound_ratio) bound.take(*r.max_bound_ratio, r);
  if (const auto e = excess_ratio(r); e && was_judged(r)) excess.take(*e, r);
  if (is_ordinary_family(r.family)) {
    if (r.max_ulp) ordinary.take(*r.max_ulp, r);
    if (r.p99_ulp) ordinary_p99.take(*r.p99_ulp, r);
  }
  for (std::size_t i = 0; i < std::size(kFigures); ++i) {
    const std::optional<double>& value = r.*kFigures[i].value;
    if (!value) continue;
    all_[i].take(*value, r);
    if (is_real_family(r.family)) real_[i].take(*value, r);
  }
  if (r.correctly_rounded && std::isfinite(*r.correctly_rounded)) {
    // The element check counts its comparisons. Without it, all elements of the judged rows count.
    double weight = static_cast<double>(r.rows_judged) * static_cast<double>(r.V);
    for (const CheckResult& c : r.checks)
      if (c.check == Check::element && c.judged > 0) weight = static_cast<double>(c.judged);
    rounded += weight * *r.correctly_rounded;
    elements += weight;
  }
}

void KeyTally::take_outside(const Record& r) {
  if (r.status != Status::unsupported && !(was_judged(r) && r.rows_outside > 0)) return;
  const auto [at, fresh] = outside.try_emplace({r.family, word_of(r)});
  OutsideTally& o = at->second;
  if (fresh || (o.returned.empty() && !r.returned.empty()))
    o.status = r.status, o.reason = shorten(r.reason, 240), o.returned = shorten(r.returned, 200);
  o.sizes.insert(r.V);
  ++o.records, o.rows += r.rows, o.outside += r.rows_outside;
}

const Extreme& KeyTally::of(const Extremes& largest, std::optional<double> Figures::*figure) {
  std::size_t i = 0;
  while (kFigures[i].value != figure) ++i;
  return largest[i];
}

bool is_empty(const Record& r) { return r.group != "properties" && (r.V == 0 || r.rows == 0); }

namespace {

bool of_logarithm(const Record& r) { return logarithms(parse_op(r.op).value_or(Op::softmax)); }

}  // namespace

bool has_resolution(const Record& r) {
  return r.status == Status::pass && r.resolution && !(of_logarithm(r) && *r.resolution > 1e-3);
}

void PassResolution::take(const Record& r) {
  if (!has_resolution(r)) {
    if (r.status == Status::pass && r.resolution) far += cases_in(r);
    return;
  }
  coarsest.take_resolution(r);
  const double of_row = r.resolution_sum.value_or(0);
  if (of_logarithm(r) && of_row > 1e-3)
    rounded_off += cases_in(r);
  else
    row = std::max(row, of_row);
}

void PassResolution::take(const PassResolution& other) {
  if (other.coarsest.any() && (!coarsest.any() || other.coarsest.value > coarsest.value))
    coarsest = other.coarsest;
  row = std::max(row, other.row);
  far += other.far;
  rounded_off += other.rounded_off;
}

std::string PassResolution::line() const {
  if (!coarsest.any()) return {};
  std::string out = fmt::format(
      "resolution: in every case that passed, a typical output off by more than {:.2g}{}, would have been "
      "refused (coarsest: {}, row length V = {})",
      coarsest.value, row > 0 ? fmt::format(", or a whole row by more than {:.2g}", row) : "",
      coarsest.family, grouped(coarsest.V));
  if (rounded_off > 0)
    out += fmt::format(
        "; in {} of them, rows of logarithms, an error of the whole row shows only if it is larger than their last place, which is coarser than "
        "0.001",
        grouped(rounded_off));
  if (far > 0)
    out += fmt::format(
        "; {} more passed whose logarithm is so far from 0 that its last place is coarser than 0.001",
        grouped(far));
  return out;
}

std::string resolution_line(const std::vector<Record>& records) {
  PassResolution passes;
  for (const Record& r : records) passes.take(r);
  return passes.line();
}

}  // namespace assay
