// What the report runs: every family, special values among them, at the vocabulary sizes. Each case is
// launched twice under layouts that differ in everything a right kernel must not depend on.
#include <algorithm>
#include <array>

#include "accuracy/behaves_like.hpp"
#include "accuracy/checker.hpp"
#include "accuracy/conformance/groups.hpp"
#include "reference/inputs.hpp"

namespace assay::conformance {
namespace {

/// The quick look's one row length with columns past 65535.
constexpr std::int64_t kPast16Bits = 70001;

/// 1, 5, every element, as many as the variant can, and one in between.
std::vector<int> ks_for(const Planning& p, std::int64_t V) {
  if (!selects(op_of(p))) return {0};
  if (p.narrow.k) return {*p.narrow.k};
  const int most = p.variant.max_k;
  std::vector<int> ks = {std::min(5, most)};
  if (V == 2 || V == 33 || V == 1025 || V == 4099) ks.push_back(1);
  if (V > 128)
    ks.push_back(1 + static_cast<int>((static_cast<std::uint64_t>(V) * 0x9e3779b9u >> 8) %
                                      static_cast<std::uint64_t>(most)));
  if (V > 5 && V < most) ks.push_back(static_cast<int>(V));
  if (V == 4099 || V == 32000) ks.push_back(most);
  for (int& k : ks) k = allowed_k(p.variant, k, V);
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  return ks;
}

Record judged_record(const Bench& bench, const ConformanceCase& c, const Case& inputs) {
  Record identity = bench.blank(c);
  // Rows that must be aligned get the room they need.
  const Layout room = fitted(plain_layout(), bench.variant(), bench.problem(c));
  if (std::string why = bench.outside(c, room); !why.empty()) return bench.unsupported(c, why);
  CheckOptions options;
  options.max_ulp = bench.options().max_ulp;
  options.pitch = bench.options().narrow.pitch.value_or(0);
  Record r = check_case(bench.variant(), inputs, c.op, c.k, options);
  r.group = identity.group;
  r.setup = identity.setup;
  r.seed = identity.seed;
  r.reproduce = identity.reproduce;
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
  const Behaviour behaviour = behaviour_of(bench.variant());
  Record r = probe_record(bench.variant(), behaviour);
  const Record identity = bench.blank(cases[0]);
  r.group = identity.group;
  r.seed = identity.seed;
  r.reproduce = identity.reproduce;
  bench.emit(0, std::move(r));
}

}  // namespace

std::vector<Unit> plan_families(const Planning& p) {
  const bool quick = p.extent == Extent::quick;
  std::vector<std::int64_t> usual(report_sizes().begin(), report_sizes().end());
  if (quick) usual = {0, 1, 2, 33, 128, 1025, 4099};
  const std::vector<std::int64_t> drawn = drawn_sizes(p.extent, p.seed);
  usual.insert(usual.end(), drawn.begin(), drawn.end());
  std::vector<std::string> names;
  for (const Family& f : families()) names.push_back(f.name);
  names.push_back(kLowest);
  names.push_back(kWidths);
  std::vector<Unit> units;
  for (const std::string& name : families_of(p, names)) {
    if (name == kProbeFamily) continue;
    std::vector<std::int64_t> lengths = usual;
    if (name == kWidths && quick) lengths.push_back(kPast16Bits);
    for (const std::int64_t V : sizes_of(p, lengths)) {
      const Family* family = find_family(name);
      const bool real = family && family->kind == FamilyKind::real;
      if (family && !applies(*family, p.variant.dtype, V)) continue;
      if (!family && std::none_of(more_families().begin(), more_families().end(),
                                  [&](const Family& f) { return f.name == name; }))
        continue;
      // The real logits are rows of 32000 cut short: the quick look takes one length of them.
      if (quick && real && V != 1025 && !p.narrow.V) continue;
      std::int64_t rows = family ? report_rows(*family, p.variant.dtype, V, p.extent == Extent::full)
                          : name == kWidths ? kWidthRows
                                            : 4;
      if (quick && family) rows = std::min<std::int64_t>(rows, V > 2048 ? 1 : 8);
      // A family of several patterns has one in each row: at the start, at the end, in between.
      if (family && std::find(drawn.begin(), drawn.end(), V) != drawn.end())
        rows = std::min<std::int64_t>(8, report_rows(*family, p.variant.dtype, 1025, false));
      for (const std::int64_t n : rows_of(p, {rows})) {
        Unit u{{}, run_family, 3 * weight_of(n, V)};
        for (const int k : ks_for(p, V)) u.cases.push_back({name, V, n, op_of(p), k});
        units.push_back(std::move(u));
      }
    }
  }
  const bool probed = p.narrow.family.empty() ? !p.narrow.V && !p.narrow.rows && !p.narrow.op && !p.narrow.k
                                              : p.narrow.family == kProbeFamily;
  if (probed) units.push_back({{{kProbeFamily, 0, 0, p.variant.op, 0}}, run_probe, 4e5});
  return units;
}

}  // namespace assay::conformance
