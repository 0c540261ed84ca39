#include "accuracy/conformance/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "accuracy/behaves_like.hpp"
#include "accuracy/conformance/likely_cause.hpp"
#include "accuracy/conformance/refused_lengths.hpp"

namespace assay::conformance {
namespace {

using Cases = std::vector<const Record*>;

bool went_wrong(const Record& r) {
  return r.status == Status::fail || r.status == Status::inconclusive || r.status == Status::crashed ||
         r.status == Status::hung;
}

/// Simplest first; of equally good ones the first in the list is taken.
std::vector<Predicate> predicates(const Cases& bad, const Cases& good) {
  std::vector<Predicate> all;
  const auto add = [&](Pattern pattern, std::string words, std::function<bool(const Record&)> holds,
                       std::int64_t number = 0) {
    all.push_back({pattern, std::move(words), std::move(holds), number});
  };
  const Record& first = *bad.front();
  std::set<std::int64_t> bad_V, good_V, bad_rows, good_rows;
  std::set<std::string> setups;
  for (const Record* r : bad) bad_V.insert(r->V), bad_rows.insert(r->rows), setups.insert(r->setup);
  for (const Record* r : good) good_V.insert(r->V), good_rows.insert(r->rows), setups.insert(r->setup);
  std::set<std::int64_t> all_V = bad_V;
  all_V.insert(good_V.begin(), good_V.end());
  // A remainder explains any few lengths.
  const bool some_V = all_V.size() > 3, many_V = all_V.size() >= 24;

  add(Pattern::everything, "every case", [](const Record&) { return true; });
  if (setups.size() > 1) {
    add(Pattern::setup, "every case " + first.setup,
        [s = first.setup](const Record& r) { return r.setup == s; });
    add(Pattern::setup, "every case " + setup_kind(first.setup) + "*",
        [k = setup_kind(first.setup)](const Record& r) { return setup_kind(r.setup) == k; });
    if (first.setup.starts_with("offset_"))
      for (const int bytes : {16, 8, 4})
        add(Pattern::setup, fmt::format("every base address off a multiple of {} bytes", bytes),
            [bytes](const Record& r) {
              return r.setup.starts_with("offset_") && std::stoi(r.setup.substr(7)) % bytes != 0;
            });
  }
  std::set<std::string> bad_setups;
  for (const Record* r : bad) bad_setups.insert(r->setup);
  if (bad_setups.size() > 1 && bad_setups.size() <= 6)
    add(Pattern::setup, fmt::format("every case {}", fmt::join(bad_setups, ", ")),
        [bad_setups](const Record& r) { return bad_setups.contains(r.setup); });
  for (const FamilyClass& c : family_classes())
    add(Pattern::family_class, std::string("every row ") + c.words,
        [c](const Record& r) { return c.has(r.family); });
  add(
      Pattern::rows_above, "every case of several rows", [](const Record& r) { return r.rows > 1; }, 1);
  if (*bad_rows.begin() > 2)
    add(
        Pattern::rows_above, fmt::format("every case of {} rows or more", *bad_rows.begin()),
        [n = *bad_rows.begin()](const Record& r) { return r.rows >= n; }, *bad_rows.begin());
  const std::int64_t lo = *bad_V.begin(), hi = *bad_V.rbegin();
  if (lo == hi && all_V.size() > 1)
    add(
        Pattern::single_V, fmt::format("V = {}", lo), [lo](const Record& r) { return r.V == lo; }, lo);
  if (some_V) {
    add(
        Pattern::V_from, fmt::format("every V from {} on", lo), [lo](const Record& r) { return r.V >= lo; },
        lo);
    add(
        Pattern::V_to, fmt::format("every V up to {}", hi), [hi](const Record& r) { return r.V <= hi; }, hi);
  }
  if (many_V)
    for (const std::int64_t q : {2,  3,  4,  5,  6,   7,   8,   9,   10,  12,  16,  20,   24,
                                 32, 48, 64, 96, 100, 128, 192, 256, 384, 512, 768, 1000, 1024}) {
      const std::int64_t rest = first.V % q;
      add(
          Pattern::V_rest, fmt::format("every V with V % {} = {}", q, rest),
          [q, rest](const Record& r) { return r.V % q == rest; }, q);
      add(
          Pattern::V_no_multiple, fmt::format("every V that is no multiple of {}", q),
          [q](const Record& r) { return r.V % q != 0; }, q);
      add(
          Pattern::V_no_multiple, fmt::format("every V above {0} that is no multiple of {0}", q),
          [q](const Record& r) { return r.V % q != 0 && r.V > q; }, q);
    }
  if (some_V)
    add(
        Pattern::band, fmt::format("every V from {} to {}", lo, hi),
        [lo, hi](const Record& r) { return lo <= r.V && r.V <= hi; }, lo);
  add(Pattern::family, "every row of the family " + first.family,
      [f = first.family](const Record& r) { return r.family == f; });
  std::set<std::string> families;
  for (const Record* r : bad) families.insert(r->family);
  if (families.size() > 1 && families.size() <= 4)
    add(Pattern::family, fmt::format("every row of the families {}", fmt::join(families, ", ")),
        [families](const Record& r) { return families.contains(r.family); });

  // Two at once: a row length or a number of rows, in one family or setup.
  const std::size_t single = all.size();
  for (std::size_t a = 1; a < single; ++a)
    for (std::size_t b = a + 1; b < single; ++b) {
      const auto about_V = [&](std::size_t i) {
        return all[i].pattern >= Pattern::single_V && all[i].pattern <= Pattern::band;
      };
      if (about_V(a) == about_V(b)) continue;
      const Predicate &v = about_V(a) ? all[a] : all[b], &other = about_V(a) ? all[b] : all[a];
      std::string words = other.words + ", " + (v.words.starts_with("every ") ? v.words.substr(6) : v.words);
      Predicate both{v.pattern, std::move(words),
                     [x = v.holds, y = other.holds](const Record& r) { return x(r) && y(r); }, v.number};
      both.with = other.pattern;
      all.push_back(std::move(both));
    }
  return all;
}

struct Fit {
  const Predicate* predicate = nullptr;
  std::int64_t bad_in = 0, good_in = 0;
};

Fit fit_of(const Predicate& p, const Cases& bad, const Cases& good) {
  Fit f{&p, 0, 0};
  for (const Record* r : bad) f.bad_in += p.holds(*r);
  for (const Record* r : good) f.good_in += p.holds(*r);
  return f;
}

bool smaller(const Record* a, const Record* b) {
  return std::tuple(a->V, a->rows, a->k) < std::tuple(b->V, b->rows, b->k);
}

std::string check_names(const Cases& bad) {
  std::map<std::string, int> count;
  for (const Record* r : bad) {
    if (r->status != Status::fail) ++count[name(r->status)];
    for (const CheckResult& c : r->checks) count[c.name] += c.failed > 0 && r->status == Status::fail;
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

Finding finding_of(Cases bad, const Cases& good, const Fit& fit, bool exact) {
  std::stable_sort(bad.begin(), bad.end(), smaller);
  Finding f;
  f.first = bad.front();
  f.group = f.first->group;
  f.checks = check_names(bad);
  f.status = f.first->status;
  f.failed = static_cast<std::int64_t>(bad.size());
  f.of = f.failed + static_cast<std::int64_t>(good.size());
  f.detail = one_line(first_detail(*f.first));
  for (const Record* r : bad) f.setups.insert(r->setup);
  if (fit.predicate && f.of > 1) {
    f.clarity = exact && fit.predicate->pattern != Pattern::everything ? 2 : 1;
    f.where = fit.predicate->words;
    if (!exact) {
      if (f.where.starts_with("every ")) f.where.erase(0, 6);
      const std::int64_t all = fit.bad_in + fit.good_in;
      const bool nearly = 10 * fit.bad_in >= 9 * all;
      f.where = fmt::format("{} {} ({} of {} such cases)", nearly ? "nearly every" : "only", f.where,
                            fit.bad_in, all);
    }
    if (fit.predicate->pattern >= Pattern::V_from && fit.predicate->pattern <= Pattern::band)
      f.where += fmt::format(" (first: V = {})", f.first->V);
  } else if (f.of > 1 && f.failed == 1) {
    f.where = fmt::format(
        "one case: {} {}", f.first->family,
        f.first->setup.empty() ? fmt::format("V = {}, {} rows", f.first->V, f.first->rows) : f.first->setup);
  } else if (f.of > 1) {
    f.where = "no simple rule";
    if (f.first->V != bad.back()->V) f.where += fmt::format("; V from {} to {}", f.first->V, bad.back()->V);
  }
  // A tool's word is no statistics.
  if (f.group == "races" || f.group == "sanitize") f.clarity = 3;
  f.likely = likely_cause(f, fit.predicate);
  f.cases = std::move(bad);
  const bool about_V = fit.predicate && fit.predicate->pattern >= Pattern::V_from &&
                       fit.predicate->pattern <= Pattern::band && fit.predicate->with == Pattern::everything;
  // Where the rest of the row outweighs it, a fault may stay below the bound.
  const bool nearly = fit.bad_in >= 9 * fit.good_in;
  if ((exact || nearly) && about_V) f.rule = fit.predicate->holds;
  return f;
}

/// A rule about the row length that one group shows clearly explains the same failures of the other groups,
/// which try too few lengths to show it themselves.
void fold_into_rules(std::vector<Finding>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].rule) continue;
    for (std::size_t j = i + 1; j < all.size();) {
      const Finding& other = all[j];
      const bool explained = other.group != all[i].group &&
                             primary_check(*other.first) == primary_check(*all[i].first) &&
                             std::all_of(other.cases.begin(), other.cases.end(),
                                         [&](const Record* r) { return all[i].rule(*r); });
      if (!explained) {
        ++j;
        continue;
      }
      all[i].also.push_back(fmt::format("{} ({})", other.group, other.failed));
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

/// One finding, or several where one rule explains most of the cases but not all.
void find(Cases bad, const Cases& good, int depth, std::vector<Finding>& out) {
  if (bad.empty()) return;
  std::stable_sort(bad.begin(), bad.end(), smaller);
  const auto all = predicates(bad, good);
  const auto n = static_cast<std::int64_t>(bad.size());
  const auto total = n + static_cast<std::int64_t>(good.size());
  Fit best, most;
  for (const Predicate& p : all) {
    const Fit f = fit_of(p, bad, good);
    if (f.bad_in == n && f.good_in == 0) {
      out.push_back(finding_of(bad, good, f, true));
      return;
    }
    if (f.bad_in == n && 5 * (f.bad_in + f.good_in) <= 4 * total && f.bad_in >= f.good_in &&
        (!best.predicate || f.good_in < best.good_in))
      best = f;
    if (f.good_in == 0 && f.bad_in > 2 && f.bad_in > most.bad_in) most = f;
  }
  if (depth < 3 && most.predicate && 2 * most.bad_in >= n && (!best.predicate || best.good_in > 0)) {
    Cases inside, outside;
    for (const Record* r : bad) (most.predicate->holds(*r) ? inside : outside).push_back(r);
    out.push_back(finding_of(inside, good, most, true));
    find(std::move(outside), good, depth + 1, out);
    return;
  }
  if (!best.predicate && depth < 3) {
    // Perhaps it is two faults: look at each check by itself.
    std::map<std::string, Cases> by_check;
    for (const Record* r : bad) by_check[primary_check(*r)].push_back(r);
    if (by_check.size() > 1) {
      for (auto& [check, cases] : by_check) find(std::move(cases), good, depth + 1, out);
      return;
    }
  }
  out.push_back(finding_of(bad, good, best, false));
}

/// Cases that fail among others and pass alone: the state, or the race, is the cause, whatever the rule says.
void name_state(const std::vector<Record>& records, std::vector<Finding>& findings) {
  const Record* call = nullptr;
  bool differs = false;
  for (const Record& r : records) {
    if (!went_wrong(r)) continue;
    if (r.group == "calls" && !call && !has_evidence(r, kFailsAlone)) call = &r;
    differs = differs || r.group == "repeat" || r.group == "schedules" || r.group == "races";
  }
  for (Finding& f : findings) {
    if (f.group == "calls" || !has_evidence(*f.first, kPassesAlone)) continue;
    f.likely = call      ? "the kernel keeps state between calls: the first case alone passes"
               : differs ? "threads race: the first case alone passes"
                         : "state kept between calls, or a race: the first case alone passes";
    if (call) {
      f.calls_reproduce = call->reproduce;
    } else if (const std::size_t only = f.first->reproduce.find(" --only "); only != std::string::npos) {
      f.calls_reproduce = f.first->reproduce.substr(0, only) + " --only calls";
    }
  }
}

}  // namespace

bool has_evidence(const Record& r, const char* what) {
  return std::find(r.evidence.begin(), r.evidence.end(), what) != r.evidence.end();
}

std::vector<Finding> diagnose(const std::vector<Record>& records) {
  std::vector<Finding> out;
  if (std::optional<Finding> refused = refused_lengths(records)) out.push_back(std::move(*refused));
  std::set<const Record*> explained;
  for (const Finding& f : out) explained.insert(f.cases.begin(), f.cases.end());
  std::vector<std::string> order;
  std::map<std::string, std::pair<Cases, Cases>> groups;
  for (const Record& r : records) {
    if (r.group.empty() || explained.contains(&r)) continue;
    // A key's probes are no case of a length.
    const std::string name = r.group + (r.family == kProbeFamily ? " " + r.family : "");
    if (!groups.contains(name)) order.push_back(name);
    auto& [bad, good] = groups[name];
    if (went_wrong(r)) bad.push_back(&r);
    if (r.status == Status::pass) good.push_back(&r);
  }
  for (const std::string& g : order) {
    auto& [bad, good] = groups[g];
    // Where there is nothing to compute there is little to do wrong: such cases break no rule.
    const auto empty = [](const Record* r) { return r->V == 0 || r->rows == 0; };
    if (std::none_of(bad.begin(), bad.end(), empty)) std::erase_if(good, empty);
    const auto judged = static_cast<std::int64_t>(bad.size() + good.size());
    const std::size_t before = out.size();
    // A kernel that dies does so for reasons of its own.
    Cases died;
    const auto alive = [](const Record* r) {
      return r->status != Status::crashed && r->status != Status::hung;
    };
    std::copy_if(bad.begin(), bad.end(), std::back_inserter(died), std::not_fn(alive));
    std::erase_if(bad, std::not_fn(alive));
    find(std::move(died), good, 0, out);
    find(bad, good, 0, out);
    for (std::size_t i = before; i < out.size(); ++i) out[i].of = judged;
  }
  std::stable_sort(out.begin(), out.end(), [](const Finding& a, const Finding& b) {
    return std::tuple(!a.rule, -a.clarity, -a.failed) < std::tuple(!b.rule, -b.clarity, -b.failed);
  });
  fold_into_rules(out);
  name_state(records, out);
  return out;
}

}  // namespace assay::conformance
