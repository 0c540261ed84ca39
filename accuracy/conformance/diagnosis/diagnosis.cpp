// SPDX-License-Identifier: Apache-2.0
// Decides which failing cases form one finding: by rules, with some cases set apart, and by races or kept
// state.
#include "accuracy/conformance/diagnosis/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "accuracy/conformance/diagnosis/finding.hpp"
#include "accuracy/conformance/diagnosis/lost_terms.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"

namespace assay::conformance {
namespace {

// ---- rules over cases ----

/// The rule of so many cases that no rule is made of.
Rule every_case(std::size_t cases) {
  Rule rule;
  rule.bad_in = static_cast<std::int64_t>(cases);
  return rule;
}

struct RulePart {
  Cases cases;
  Rule rule;
};
struct Cover {
  std::vector<RulePart> parts;
  double bits = 0;
};

/// Finds one rule after another, each for the cases that the earlier ones leave.
Cover cover(Cases bad, const Cases& good) {
  constexpr int kMostRules = 4;
  Cover all;
  while (!bad.empty()) {
    RulePart p{bad, static_cast<int>(all.parts.size()) + 1 < kMostRules ? shortest_rule(bad, good) : Rule()};
    if (p.rule.bad.empty()) {
      p.rule.bad.assign(bad.size(), true), p.rule.bad_in = static_cast<std::int64_t>(bad.size());
      p.rule.good_in = static_cast<std::int64_t>(good.size());
    }
    all.bits += p.rule.bits;
    Cases inside, outside;
    for (std::size_t i = 0; i < bad.size(); ++i) (p.rule.bad[i] ? inside : outside).push_back(bad[i]);
    p.cases = std::move(inside);
    all.parts.push_back(std::move(p));
    bad = std::move(outside);
  }
  return all;
}

/// Rules for all cases together, or for each symptom separately if that is shorter.
Cover explain(const Cases& bad, const Cases& good) {
  constexpr double kAnotherSymptom = 40;
  std::map<Symptom, Cases> by_symptom;
  for (const Record* r : bad) by_symptom[symptom_of(*r)].push_back(r);
  Cover together = cover(bad, good);
  if (by_symptom.size() == 1) return together;
  Cover each;
  for (auto& [symptom, cases] : by_symptom) {
    Cover one = cover(cases, good);
    each.bits += one.bits + kAnotherSymptom;
    std::move(one.parts.begin(), one.parts.end(), std::back_inserter(each.parts));
  }
  return each.bits < together.bits ? each : together;
}

/// Cases that no rule explains join a finding that looks like them, because they are hardly a second fault.
void fold_the_rest(std::vector<Finding>& all, const std::vector<RulePart>& parts) {
  std::vector<std::size_t> more(all.size(), 0);
  for (std::size_t i = all.size(); i-- > 1;) {
    const Rule& rule = parts[i].rule;
    if (rule.pattern != Pattern::everything && 10 * rule.bad_in >= 9 * (rule.bad_in + rule.good_in)) continue;
    const auto alike = [&](const Finding& f) {
      const Symptom s = symptom_of(*all[i].first);
      const bool vague =
          10 * rule.bad_in < 7 * (rule.bad_in + rule.good_in) && s != Symptom::hung && s != Symptom::died;
      return f.cases.size() >= all[i].cases.size() &&
             (vague || std::any_of(f.cases.begin(), f.cases.end(),
                                   [&](const Record* r) { return symptom_of(*r) == s; }));
    };
    const auto at = std::find_if(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(i), alike);
    if (at == all.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    more[static_cast<std::size_t>(at - all.begin())] += all[i].cases.size() + more[i];
    at->exact = false;
    merge(*at, all[i]);
    more.erase(more.begin() + static_cast<std::ptrdiff_t>(i));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    if (more[i] > 0) all[i].where += fmt::format(", and {} more by no rule", more[i]);
}

/// Wrong numbers, which may have one cause that no rule about the cases tells.
bool of_numbers(const Record* r) {
  const Symptom s = symptom_of(*r);
  return s == Symptom::values || s == Symptom::special || s == Symptom::undecided;
}

std::vector<Finding> findings_of(const Cases& bad, Cases good) {
  if (bad.empty()) return {};
  if (std::string lost = cause_of_lost_terms(bad, good); !lost.empty()) {
    Cases its, others;
    for (const Record* r : bad) (of_numbers(r) ? its : others).push_back(r);
    if (!its.empty()) {
      std::vector<Finding> out = findings_of(others, good);
      out.insert(out.begin(), finding_of(its, good, every_case(its.size()), std::move(lost)));
      return out;
    }
  }
  // Passing cases without anything to compute contradict no rule: little can go wrong there.
  const auto empty = [](const Record* r) { return r->V == 0 || r->rows == 0; };
  if (std::none_of(bad.begin(), bad.end(), empty)) std::erase_if(good, empty);
  Cover all = explain(bad, good);
  std::stable_sort(all.parts.begin(), all.parts.end(),
                   [](const RulePart& a, const RulePart& b) { return a.cases.size() > b.cases.size(); });
  std::vector<Finding> out;
  for (const RulePart& p : all.parts) out.push_back(finding_of(p.cases, good, p.rule));
  fold_the_rest(out, all.parts);
  return out;
}

// ---- cases from which no rule is made ----

/// The finding that explains a case that was set apart; null if none does.
Finding* explained_by(const Record& r, std::vector<Finding>& all) {
  for (Finding& f : all)
    if (symptom_of(*f.first) == symptom_of(r)) return &f;
  // A child process of a tool, a probe or a property dies of the same fault as the cases, and a kernel that
  // computes wrong numbers breaks its claim. What a tool itself reports is no consequence of these.
  return symptom_of(r) == Symptom::tool || all.empty() ? nullptr : &all.front();
}

Finding alone(const Record& r) { return finding_of({&r}, {}, every_case(1)); }

/// Cases of `calls` that pass alone fail because of what earlier calls leave behind. This also explains cases
/// of other groups that pass alone.
void add_calls(const Cases& bad, const Cases& good, std::vector<Finding>& out) {
  Cases by_state, by_themselves;
  for (const Record* r : bad) (r->alone == Alone::fails ? by_themselves : by_state).push_back(r);
  if (out.empty() && !by_themselves.empty())
    out = findings_of(by_themselves, good);
  else
    for (const Record* r : by_themselves) merge(*explained_by(*r, out), alone(*r));
  if (by_state.empty()) return;
  std::vector<Finding> found = {finding_of(by_state, good, every_case(by_state.size()))};
  std::set<std::string> places;
  for (const Setup& s : found.front().setups) places.insert(s.text());
  found.front().where = fmt::format("in {}", fmt::join(places, ", "));
  const bool state = found.front().first->alone != Alone::fails;
  for (std::size_t i = 0; state && i < out.size();)
    if (out[i].first->alone == Alone::passes) {
      merge(found.front(), out[i]);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  out.insert(out.begin(), found.begin(), found.end());
}

void add_apart(const Cases& bad, const Cases& good, std::vector<Finding>& out) {
  Cases calls, calls_good;
  for (const Record* r : good)
    if (r->group == "calls") calls_good.push_back(r);
  for (const Record* r : bad)
    if (r->group == "calls") calls.push_back(r);
  add_calls(calls, calls_good, out);
  for (const Record* r : bad) {
    if (r->group == "calls") continue;
    if (Finding* const f = explained_by(*r, out))
      merge(*f, alone(*r));
    else
      out.push_back(alone(*r));
  }
}

/// Names the cause if the first case passes as the only one of a process, although no state was seen to be
/// kept between calls.
void name_state(std::vector<Finding>& findings) {
  bool differs = false;
  for (const Finding& f : findings)
    for (const Record* r : f.cases)
      differs = differs || r->group == "repeat" || r->group == "schedules" || r->group == "races";
  for (Finding& f : findings) {
    if (f.group == "calls" || f.first->alone != Alone::passes) continue;
    f.likely = differs ? "threads race: the first case alone passes"
                       : "state kept between calls, or a race: the first case alone passes";
    f.passes_alone = true;
  }
}

/// What was measured or seen comes before what no exact rule suggests.
void name_what_is_shown(const std::vector<Record>& records, std::vector<Finding>& findings) {
  const auto name = [](Finding& f, std::string cause) {
    f.likely = std::move(cause);
    f.may_be_arithmetic = false;
  };
  const std::string narrow = cause_of_narrow_sum(records);
  for (Finding& f : findings) {
    if (!f.vague || !f.lost_terms.empty() || !of_numbers(f.first)) continue;
    // A wrong sum leaves the outputs of a row as they should be to one another.
    if (!narrow.empty() && !f.failed_checks.contains(Check::coherence)) name(f, narrow);
    if (const Record* const log = underflowed_log(f)) {
      // The case that shows it, and not one that is hardly off.
      name(f, kUnderflowedLog);
      begin_with(f, *log);
    }
    if (std::string beyond = cause_of_reads_beyond(f); !beyond.empty()) name(f, std::move(beyond));
  }
}

/// A race explains wrong outputs. But if memory next to the rows is written, the race is a consequence of
/// that.
bool first_of_all(const Finding& f, const std::vector<Finding>& all) {
  if (symptom_of(*f.first) != Symptom::tool) return false;
  return std::none_of(all.begin(), all.end(), [](const Finding& other) {
    return other.failed_checks.contains(Check::guard) || other.status == Status::crashed;
  });
}

/// If a race was seen, it explains outputs that are wrong without a rule, or that differ from launch to
/// launch.
void fold_into_race(std::vector<Finding>& all) {
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Finding& f) { return first_of_all(f, all); });
  if (at == all.end()) return;
  Finding race = std::move(*at);
  all.erase(at);
  std::erase_if(all, [&](const Finding& f) {
    const bool its = !f.ruled || symptom_of(*f.first) == Symptom::differs;
    if (its) merge(race, f);
    return its;
  });
  all.insert(all.begin(), std::move(race));
}

}  // namespace

std::vector<Finding> diagnose(const std::vector<Record>& records) {
  std::vector<Finding> out;
  std::optional<Finding> refused = refused_lengths(records);
  std::set<const Record*> explained;
  if (refused) explained.insert(refused->cases.begin(), refused->cases.end());
  Cases bad, good, bad_apart, good_apart;
  for (const Record& r : records) {
    if (r.group.empty() || explained.contains(&r)) continue;
    if (went_wrong(r)) (apart(r) ? bad_apart : bad).push_back(&r);
    if (r.status == Status::pass) (apart(r) ? good_apart : good).push_back(&r);
  }
  out = findings_of(bad, good);
  add_apart(bad_apart, good_apart, out);
  if (refused) out.push_back(std::move(*refused));
  fold_into_race(out);
  name_state(out);
  name_what_is_shown(records, out);
  const std::vector<Finding> all = out;
  std::stable_sort(out.begin(), out.end(), [&](const Finding& a, const Finding& b) {
    const auto rank = [&](const Finding& f) {
      return std::tuple(!first_of_all(f, all), f.group != "calls" || f.first->alone == Alone::fails,
                        -static_cast<std::int64_t>(f.cases.size()));
    };
    return rank(a) < rank(b);
  });
  return out;
}

}  // namespace assay::conformance
