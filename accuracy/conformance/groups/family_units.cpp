// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/groups/family_units.hpp"

#include <algorithm>
#include <chrono>
#include <map>

#include "accuracy/conformance/groups/causal_plan.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"

namespace assay::conformance {
namespace {

/// Whole squares for a causal kernel, as long as they are not too large; otherwise its case reports that it
/// is outside.
std::int64_t rows_of_family(const Variant& v, const std::string& name, std::int64_t V, std::int64_t rows) {
  constexpr std::int64_t kMostOfASquare = std::int64_t{1} << 21;
  if (V == 0 || V > kMostOfASquare / V) return rows;
  // The number of rows of a file is fixed.
  return find_family(name) ? whole_squares(v, V, rows) : rows;
}

Record judged_record(const Bench& bench, const ConformanceCase& c, const Case& inputs) {
  const Variant& v = bench.variant_of(c);
  const ConformanceOptions& asked = bench.options();
  const std::unique_ptr<ElementObserver> observer = asked.observe ? asked.observe(v, c) : nullptr;
  const auto begin = std::chrono::steady_clock::now();
  Record r = bench.blank(c);
  // Rows that must be aligned get the gaps that they need.
  const Layout room = fitted(plain_layout(), v, bench.problem(c));
  if (const Obstacle why = bench.outside(c, room)) {
    r = bench.unsupported(c, why);
    if (why.why == Why::domain) r.rows_outside = c.rows;
  } else {
    CheckOptions options;
    options.observer = observer.get();
    options.max_ulp = asked.max_ulp;
    options.pitch = asked.narrow.pitch.value_or(0);
    options.seed = asked.seed;
    Record judged = check_case(v, inputs, c.op, c.k, options);
    judged.group = r.group;
    judged.setup = r.setup;
    judged.seed = r.seed;
    judged.reproduce = r.reproduce;
    r = std::move(judged);
  }
  if (observer) observer->finish();
  const auto took = std::chrono::steady_clock::now() - begin;
  if (r.status == Status::crashed) bench.count({r.reason, Ended::crashed});
  if (r.status == Status::hung) bench.count({r.reason, Ended::hung}, took);
  if (r.status == Status::crashed || r.status == Status::pass) {
    Problem p = bench.problem(c);
    p.in_pitch = p.V + room.in_gap;
    bench.saw(p, room.offset, r.status == Status::crashed, took);
  }
  return r;
}

void run_family(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const Case inputs = bench.inputs(cases[0]);
  for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i)
    bench.emit(i, judged_record(bench, cases[i], inputs));
}

void run_probe(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const Variant& v = bench.variant_of(cases[0]);
  if (const std::string other = not_plain_rows(v.claim, v.op); !other.empty()) {
    const std::string asked = "probes ask for an exp, a maximum and a division: " + other;
    bench.emit(0, bench.unsupported(cases[0], obstacle(Why::op, asked)));
    return;
  }
  const Record identity = bench.blank(cases[0]);
  Record r = probe_record(v, behaviour_of(v));
  r.group = identity.group;
  r.seed = identity.seed;
  r.reproduce = identity.reproduce;
  bench.emit(0, std::move(r));
}

}  // namespace

std::vector<Unit> family_units(std::span<const Variant* const> variants, const FamilyLists& lists) {
  std::vector<Unit> units;
  for (const Dtype dtype : kDtypes) {
    std::vector<const Variant*> takers;
    for (const Variant* v : variants)
      if (v->dtype == dtype) takers.push_back(v);
    if (takers.empty()) continue;
    for (const std::string& name : lists.families) {
      const Family* const family = find_family(name);
      for (const std::int64_t V : lists.sizes(name, dtype)) {
        if (family && !applies(*family, dtype, V)) continue;
        for (const std::int64_t rows : lists.rows(name, dtype, V)) {
          // The cases that share inputs; causal kernels have squares.
          std::map<std::int64_t, Unit> by_rows;
          for (const Variant* v : takers) {
            const Op op = lists.op.value_or(v->op);
            const std::int64_t its = rows_of_family(*v, name, V, rows);
            for (const int k : has_k(op) ? lists.ks(*v, name, V) : std::vector<int>{0})
              by_rows[its].cases.push_back({name, V, its, op, k, {}, v});
          }
          for (auto& [its, u] : by_rows) {
            u.run = run_family;
            // The exact results take about as long as two kernels.
            u.weight = weight_of(its, V) * static_cast<double>(u.cases.size() + 2);
            units.push_back(std::move(u));
          }
        }
      }
    }
  }
  return units;
}

Unit probe_unit(const ConformanceCase& c) { return {{c}, run_probe, 4e5}; }

}  // namespace assay::conformance
