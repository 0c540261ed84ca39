// SPDX-License-Identifier: Apache-2.0
// Builds a finding: its checks, its place, its first case and the likely cause.
#include "accuracy/conformance/diagnosis/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "accuracy/conformance/diagnosis/lost_terms.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "reference/problem.hpp"

namespace assay::conformance {

/// Finds the symptom from a record's status and its first failed check.
bool went_wrong(const Record& r) {
  return r.status == Status::fail || r.status == Status::inconclusive || r.status == Status::crashed ||
         r.status == Status::hung;
}

Symptom symptom_of(const Record& r) {
  if (r.status == Status::hung) return Symptom::hung;
  if (r.status == Status::crashed) return Symptom::died;
  if (r.status == Status::inconclusive) return Symptom::undecided;
  const CheckResult* const check = first_failed(r);
  if (!check) return Symptom::values;
  switch (check->check) {
    case Check::launch:
      return Symptom::launch;
    case Check::guard:
    case Check::inputs:
    case Check::late_write:
      return Symptom::beside;
    case Check::written:
      return Symptom::written;
    case Check::special:
      return Symptom::special;
    case Check::repeat:
    case Check::batch:
      return Symptom::differs;
    case Check::claim:
      return Symptom::claim;
    case Check::race:
    case Check::memcheck:
    case Check::racecheck:
    case Check::initcheck:
    case Check::synccheck:
      return Symptom::tool;
    default:
      return Symptom::values;
  }
}

bool apart(const Record& r) {
  return r.group == "calls" || r.group == "races" || r.group == "sanitize" || r.group == "fuzz" ||
         r.family == kProbeFamily || (traits_of(r.family) & trait::mixed) || find_check(r, Check::property);
}

namespace {

bool smaller(const Record* a, const Record* b) {
  return std::tuple(a->V, a->rows, a->pick()) < std::tuple(b->V, b->rows, b->pick());
}

std::string check_names(const Cases& bad) {
  std::map<std::string, int> count;
  for (const Record* r : bad) {
    if (r->status != Status::fail) ++count[name(r->status)];
    for (const CheckResult& c : r->checks) count[name(c.check)] += c.failed > 0 && r->status == Status::fail;
  }
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [check, n] : count)
    if (n > 0) order.emplace_back(-n, check);
  std::sort(order.begin(), order.end());
  std::string out;
  for (const auto& [n, check] : order) out += (out.empty() ? "" : ", ") + check;
  return out;
}

std::string first_detail(const Record& r) {
  for (const CheckResult& c : r.checks)
    if (c.failed > 0 && !c.detail.empty()) return c.detail;
  return r.reason;
}

std::string one_line(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space || (!out.empty() && out.back() != ' ')) out += space ? ' ' : c;
  }
  return out;
}

std::string words_of(const Rule& rule, const Cases& bad, const Cases& good) {
  const Record& first = *bad.front();
  const std::size_t of = bad.size() + good.size();
  if (of == 1) return {};
  if (rule.pattern == Pattern::everything) {
    if (good.empty()) return rule.whole();
    if (bad.size() == 1)
      return fmt::format(
          "one case: {} {}{}", first.family,
          first.setup.empty() ? fmt::format("V = {}, {} rows", first.V, first.rows) : first.setup.text(),
          first.pick() != Pick() ? ", " + words_of(*parse_op(first.op), first.pick()) : std::string());
    std::string s = "no simple rule";
    if (first.V != bad.back()->V) s += fmt::format("; V from {} to {}", first.V, bad.back()->V);
    return s;
  }
  // If a passing case contradicts the words, they are not a rule but a number of cases.
  std::string s = rule.exact() ? rule.whole()
                               : fmt::format("no exact rule; {} of {} cases fail with: {}", rule.bad_in,
                                             rule.bad_in + rule.good_in, rule.words);
  if (about_V(rule.pattern) && rule.pattern != Pattern::single_V)
    s += fmt::format(" (first: V = {})", first.V);
  return s;
}

/// False for a rule about places, rows or remainders: it concerns addressing, not arithmetic.
bool may_be_arithmetic(const Rule& rule) {
  const auto addresses = [](Pattern p) {
    return about_setup(p) || about_rows(p) || p == Pattern::columns_times_rows || p == Pattern::k ||
           p == Pattern::single_V || p == Pattern::V_to || p == Pattern::V_rest ||
           p == Pattern::V_no_multiple || p == Pattern::V_power_of_two || p == Pattern::band;
  };
  return !addresses(rule.pattern) && !addresses(rule.with);
}

}  // namespace

Finding finding_of(Cases bad, const Cases& good, const Rule& rule, std::string lost_terms) {
  std::stable_sort(bad.begin(), bad.end(), smaller);
  Finding f;
  std::map<std::string, std::int64_t> of_group;
  for (const Record* r : bad) ++of_group[r->group];
  f.group = std::max_element(of_group.begin(), of_group.end(), [](const auto& a, const auto& b) {
              return a.second < b.second;
            })->first;
  f.first = *std::find_if(bad.begin(), bad.end(), [&](const Record* r) { return r->group == f.group; });
  for (const auto& [group, n] : of_group)
    if (group != f.group) f.also.push_back(fmt::format("{} ({})", group, n));
  f.checks = check_names(bad);
  for (const Record* r : bad) {
    f.setups.insert(place_of(*r));
    for (const CheckResult& c : r->checks)
      if (c.failed > 0) f.failed_checks.insert(c.check);
  }
  f.status = f.first->status;
  f.failed = of_group[f.group];
  f.of = f.failed;
  for (const Record* r : good) f.of += r->group == f.group;
  f.detail = one_line(first_detail(*f.first));
  f.exact = rule.exact();
  f.ruled = rule.pattern != Pattern::everything;
  f.cases = std::move(bad);
  f.where = words_of(rule, f.cases, good);
  f.vague = f.ruled ? !f.exact : f.cases.size() > 1 && !good.empty();
  f.lost_terms = std::move(lost_terms);
  if (!f.lost_terms.empty()) {
    // In long rows a few terms of many are within the bound. A rule about V would only say where that begins.
    f.vague = true;
    f.where = fmt::format("seen in rows of V = {} to {}", f.cases.front()->V, f.cases.back()->V);
  }
  f.likely = likely_cause(f, rule);
  if (f.lost_terms.empty())
    if (std::string left_out = cause_of_left_out(f.cases); !left_out.empty()) f.likely = std::move(left_out);
  if (rule.pattern == Pattern::V_from && rule.exact() && rule.with == Pattern::everything && rule.number > 2)
    f.declares = fmt::format("max_V={}", rule.number - 1);
  // If another cause is known, no class is offered. Exception: a policy for special values can be declared.
  const bool policy = symptom_of(*f.first) == Symptom::special && f.lost_terms.empty();
  f.may_be_arithmetic =
      may_be_arithmetic(rule) && (f.likely.empty() || f.likely == kOtherArithmetic || policy);
  if (f.may_be_arithmetic && f.first->nearest == Nearest::other_class &&
      symptom_of(*f.first) == Symptom::values)
    f.likely = fmt::format("{}: the first case {}", kOtherArithmetic, f.first->behaves_like);
  if (f.may_be_arithmetic && f.first->nearest == Nearest::beyond_measured)
    f.likely = "another sum than the one that was measured, or a part of it is lost";
  return f;
}

void begin_with(Finding& f, const Record& first) {
  f.first = &first;
  f.status = first.status;
  f.detail = one_line(first_detail(first));
}

void merge(Finding& into, const Finding& other) {
  std::map<std::string, std::int64_t> of_group;
  into.cases.insert(into.cases.end(), other.cases.begin(), other.cases.end());
  for (const Record* r : into.cases) ++of_group[r->group];
  into.also.clear();
  for (const auto& [group, n] : of_group)
    if (group == into.group)
      into.failed = n;
    else
      into.also.push_back(fmt::format("{} ({})", group, n));
  into.of = std::max(into.of, into.failed);
}

namespace {

/// True if it read elements behind the logits, in front of memory that is not there.
bool reads_beyond(const Record& r) {
  const CheckResult* const check = first_failed(r);
  return r.status == Status::crashed && r.setup.kind() == SetupKind::page_end && check && check->access &&
         check->access->read && check->access->logits && check->access->byte >= check->access->size;
}

bool before(const Record* a, const Record* b) {
  return std::tuple(a->V, a->rows, a->pick()) < std::tuple(b->V, b->rows, b->pick());
}

/// exp(x - m) is 0 in f32 below -104, and no longer exact below -87.
constexpr double kUnderflow = -87;

}  // namespace

std::string cause_of_reads_beyond(const Finding& f) {
  const Record* first = nullptr;
  std::set<std::int64_t> lengths;
  for (const Record* r : f.cases)
    if (reads_beyond(*r)) {
      lengths.insert(r->V);
      if (!first || before(r, first)) first = r;
    }
  if (!first || f.first->status == Status::crashed) return {};
  // The powers of two that whole vectors have.
  std::string where;
  for (const std::int64_t vector : {2, 4, 8, 16})
    if (where.empty() &&
        std::all_of(lengths.begin(), lengths.end(), [&](std::int64_t V) { return V % vector != 0; }))
      where = fmt::format(" where V is no multiple of {}", vector);
  const BufferAccess& at = *first_failed(*first)->access;
  return fmt::format(
      "elements beyond the end of a row are read{} (V = {}: a read at byte {} of the logits, which have {})",
      where, first->V, at.byte, at.size);
}

const Record* underflowed_log(const Finding& f) {
  const Record* first = nullptr;
  for (const Record* r : f.cases) {
    const auto op = parse_op(r->op);
    if (!op || !log_probabilities(*op) || !r->worst || !std::isinf(r->worst->got) || r->worst->got > 0)
      continue;
    // Near the maximum no probability underflows.
    if (!std::isfinite(r->worst->exact_lo) || !(r->worst->distance < kUnderflow)) return nullptr;
    if (!first || before(r, first)) first = r;
  }
  return first;
}

std::optional<std::int64_t> first_row_unwritten(const Finding& f) {
  std::optional<std::int64_t> row;
  for (const Record* r : f.cases) {
    const CheckResult* const written = find_check(*r, Check::written);
    if (!written || written->failed == 0 || !written->row) continue;
    if (row && *row != *written->row) return {};
    row = written->row;
  }
  return row;
}

}  // namespace assay::conformance
