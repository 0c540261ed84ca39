#include "accuracy/conformance/diagnosis/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "accuracy/conformance/diagnosis/likely_cause.hpp"
#include "accuracy/conformance/diagnosis/refused_lengths.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/behaves_like.hpp"

namespace assay::conformance {
namespace {

bool went_wrong(const Record& r) {
  return r.status == Status::fail || r.status == Status::inconclusive || r.status == Status::crashed ||
         r.status == Status::hung;
}

/// What a case shows besides its numbers. Faults that show alike are likelier to be one.
enum class Symptom { hung, died, launch, beside, written, special, values, differs, claim, tool, undecided };

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

/// Cases whose V, rows and family say little of what was run: several calls of other shapes, lengths that are
/// drawn, rows of every family, a second program. They tell no rule, and are explained by one.
bool apart(const Record& r) {
  return r.group == "calls" || r.group == "races" || r.group == "sanitize" || r.group == "fuzz" ||
         r.family == kProbeFamily || (traits_of(r.family) & trait::mixed) || find_check(r, Check::property);
}

bool smaller(const Record* a, const Record* b) {
  return std::tuple(a->V, a->rows, a->k) < std::tuple(b->V, b->rows, b->k);
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
    if (good.empty()) return rule.words;
    if (bad.size() == 1)
      return fmt::format(
          "one case: {} {}{}", first.family,
          first.setup.empty() ? fmt::format("V = {}, {} rows", first.V, first.rows) : first.setup,
          first.k > 0 ? fmt::format(", k = {}", first.k) : std::string());
    std::string s = "no simple rule";
    if (first.V != bad.back()->V) s += fmt::format("; V from {} to {}", first.V, bad.back()->V);
    return s;
  }
  std::string s = rule.words;
  if (!rule.exact()) {
    // What a passing case contradicts is a number of cases, and no rule.
    if (s.starts_with("every ")) s.erase(0, 6);
    s = fmt::format("no exact rule; {} of {} cases fail with: {}", rule.bad_in, rule.bad_in + rule.good_in,
                    s);
  }
  if (about_V(rule.pattern) && rule.pattern != Pattern::single_V)
    s += fmt::format(" (first: V = {})", first.V);
  return s;
}

/// A rule about places, rows or remainders is about what is addressed, not about how it is computed.
bool may_be_arithmetic(const Rule& rule) {
  const auto addresses = [](Pattern p) {
    return about_setup(p) || about_rows(p) || p == Pattern::columns_times_rows || p == Pattern::k ||
           p == Pattern::single_V || p == Pattern::V_to || p == Pattern::V_rest ||
           p == Pattern::V_no_multiple || p == Pattern::V_power_of_two || p == Pattern::band;
  };
  return !addresses(rule.pattern) && !addresses(rule.with);
}

Finding finding_of(Cases bad, const Cases& good, const Rule& rule) {
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
  f.likely = likely_cause(f, rule);
  // Where another cause is known no class is offered; but a policy for special values is a word to declare.
  f.may_be_arithmetic = may_be_arithmetic(rule) && (f.likely.empty() || f.likely == kOtherArithmetic ||
                                                    symptom_of(*f.first) == Symptom::special);
  if (f.may_be_arithmetic && f.first->nearest == Nearest::other_class &&
      symptom_of(*f.first) == Symptom::values)
    f.likely = fmt::format("{}: the first case {}", kOtherArithmetic, f.first->behaves_like);
  if (f.may_be_arithmetic && f.first->nearest == Nearest::beyond_measured)
    f.likely = "a part of the sum is lost, or rounded too coarsely";
  return f;
}

// ---- rules over cases ----

struct Part {
  Cases cases;
  Rule rule;
};
struct Cover {
  std::vector<Part> parts;
  double bits = 0;
};

/// One rule after another, each for what the earlier ones leave.
Cover cover(Cases bad, const Cases& good) {
  constexpr int kMostRules = 4;
  Cover all;
  while (!bad.empty()) {
    Part p{bad, static_cast<int>(all.parts.size()) + 1 < kMostRules ? shortest_rule(bad, good) : Rule()};
    if (p.rule.bad.empty()) {
      p.rule.words = "every case";
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

/// The cases by rules: of all together, or of each symptom by itself where that is the shorter story.
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

/// The rest that no rule explains is no second fault where it looks like the first.
void fold_the_rest(std::vector<Finding>& all, const std::vector<Part>& parts) {
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

std::vector<Finding> findings_of(const Cases& bad, Cases good) {
  if (bad.empty()) return {};
  // Where there is nothing to compute there is little to do wrong: such cases break no rule.
  const auto empty = [](const Record* r) { return r->V == 0 || r->rows == 0; };
  if (std::none_of(bad.begin(), bad.end(), empty)) std::erase_if(good, empty);
  Cover all = explain(bad, good);
  std::stable_sort(all.parts.begin(), all.parts.end(),
                   [](const Part& a, const Part& b) { return a.cases.size() > b.cases.size(); });
  std::vector<Finding> out;
  for (const Part& p : all.parts) out.push_back(finding_of(p.cases, good, p.rule));
  fold_the_rest(out, all.parts);
  return out;
}

// ---- cases that tell no rule of their own ----

/// Which of the findings explains a case that was set apart; null if none does.
Finding* explained_by(const Record& r, std::vector<Finding>& all) {
  for (Finding& f : all)
    if (symptom_of(*f.first) == symptom_of(r)) return &f;
  // A child of a tool, a probe or a property dies of what kills the cases, and what computes wrong numbers
  // keeps no claim. What a tool itself says is no consequence.
  return symptom_of(r) == Symptom::tool || all.empty() ? nullptr : &all.front();
}

Finding alone(const Record& r) {
  Rule rule;
  rule.words = "every case";
  rule.bad_in = 1;
  return finding_of({&r}, {}, rule);
}

/// Cases of `calls` that pass alone: what the calls before leave behind is why, and why cases of other groups
/// fail that pass alone as well.
void add_calls(const Cases& bad, const Cases& good, std::vector<Finding>& out) {
  Cases by_state, by_themselves;
  for (const Record* r : bad) (r->alone == Alone::fails ? by_themselves : by_state).push_back(r);
  if (out.empty() && !by_themselves.empty())
    out = findings_of(by_themselves, good);
  else
    for (const Record* r : by_themselves) merge(*explained_by(*r, out), alone(*r));
  if (by_state.empty()) return;
  Rule rule;
  rule.words = "every case";
  rule.bad_in = static_cast<std::int64_t>(by_state.size());
  std::vector<Finding> found = {finding_of(by_state, good, rule)};
  found.front().where = fmt::format("in {}", fmt::join(found.front().setups, ", "));
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

/// The first case passes as the only one of a process, although nothing is seen to be kept between calls.
void name_state(std::vector<Finding>& findings) {
  bool differs = false;
  for (const Finding& f : findings)
    for (const Record* r : f.cases)
      differs = differs || r->group == "repeat" || r->group == "schedules" || r->group == "races";
  for (Finding& f : findings) {
    if (f.group == "calls" || f.first->alone != Alone::passes) continue;
    f.likely = differs ? "threads race: the first case alone passes"
                       : "state kept between calls, or a race: the first case alone passes";
    if (const std::size_t only = f.first->reproduce.find(" --only "); only != std::string::npos)
      f.calls_reproduce = f.first->reproduce.substr(0, only) + " --only calls";
  }
}

/// A race is why outputs are wrong; where memory beside the rows is written it is a consequence.
bool first_of_all(const Finding& f, const std::vector<Finding>& all) {
  if (symptom_of(*f.first) != Symptom::tool) return false;
  return std::none_of(all.begin(), all.end(), [](const Finding& other) {
    return other.failed_checks.contains(Check::guard) || other.status == Status::crashed;
  });
}

/// Outputs that are wrong by no rule, or differ from launch to launch, are a race's where one was seen.
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
