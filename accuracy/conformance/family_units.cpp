#include "accuracy/conformance/family_units.hpp"

#include "accuracy/behaves_like.hpp"
#include "accuracy/checker.hpp"
#include "accuracy/conformance/groups.hpp"

namespace assay::conformance {
namespace {

Record judged_record(const Bench& bench, const ConformanceCase& c, const Case& inputs) {
  const Variant& v = bench.variant_of(c);
  const ConformanceOptions& asked = bench.options();
  const std::unique_ptr<ElementObserver> observer = asked.observe ? asked.observe(v, c) : nullptr;
  Record r = bench.blank(c);
  // Rows that must be aligned get the room they need.
  const Layout room = fitted(plain_layout(), v, bench.problem(c));
  if (const std::string why = bench.outside(c, room); !why.empty()) {
    r = bench.unsupported(c, why);
    if (why.starts_with("domain: ")) r.rows_outside = c.rows;
  } else {
    CheckOptions options;
    options.observer = observer.get();
    options.max_ulp = asked.max_ulp;
    options.pitch = asked.narrow.pitch.value_or(0);
    Record judged = check_case(v, inputs, c.op, c.k, options);
    judged.group = r.group;
    judged.setup = r.setup;
    judged.seed = r.seed;
    judged.reproduce = r.reproduce;
    r = std::move(judged);
  }
  if (observer) observer->finish();
  if (r.status == Status::crashed) bench.count({r.reason, Ended::crashed});
  if (r.status == Status::hung) bench.count({r.reason, Ended::hung});
  return r;
}

void run_family(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const Case inputs = bench.inputs(cases[0]);
  for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i)
    bench.emit(i, judged_record(bench, cases[i], inputs));
}

void run_probe(Bench& bench, const std::vector<ConformanceCase>& cases) {
  const Variant& v = bench.variant_of(cases[0]);
  if (v.op == Op::softmax_backward) {
    bench.emit(0, bench.unsupported(cases[0], "op: probes ask for an exp, a maximum and a division"));
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
          Unit u{{}, run_family};
          for (const Variant* v : takers) {
            const Op op = lists.op.value_or(v->op);
            for (const int k : selects(op) ? lists.ks(*v, name, V) : std::vector<int>{0})
              u.cases.push_back({name, V, rows, op, k, {}, v});
          }
          // The truth takes about as long as two kernels.
          u.weight = weight_of(rows, V) * static_cast<double>(u.cases.size() + 2);
          units.push_back(std::move(u));
        }
      }
    }
  }
  return units;
}

Unit probe_unit(const ConformanceCase& c) { return {{c}, run_probe, 4e5}; }

}  // namespace assay::conformance
