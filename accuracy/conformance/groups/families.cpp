// SPDX-License-Identifier: Apache-2.0
// What `assay check` tries in the group `families`: every family, special values included, at vocabulary
// sizes and at random ones.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string_view>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/declaration.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay::conformance {
namespace {

/// The only row length of the quick look with columns past 65535.
constexpr std::int64_t kPast16Bits = 70001;

/// Every k is tried with rows of this family and this length: a fault in one k would be missed by round
/// numbers.
constexpr const char* kEveryK = "normal_1";
constexpr std::int64_t kLengthOfEveryK = 1025;
constexpr int kMostOfEveryK = 128;

/// Kernels select up to this many in one way, more in another. Each has its own trials.
constexpr int kFewK = 256;

/// Rows of every family are tried with k up to this if nobody declared the largest k. Larger k have rows of
/// three families, of which one has fewer ties than k, and another more: a kernel may keep a list of ties.
constexpr int kUsualK = 64;
constexpr std::array<std::string_view, 3> kOfLargeK = {kEveryK, "ties", "constant"};
constexpr std::array<int, 4> kLargeK = {128, 300, 1000, 2048};

/// The k to try: 1, 5, every element, as many as the variant can select, and some in between.
std::vector<Pick> picks_for(const Planning& p, const std::string& family, std::int64_t V) {
  if (p.narrow.pick.any()) return {pick_of(p, V)};
  if (const Op op = op_of(p); keeps_a_set(op)) {
    const auto is = [&](std::int64_t usual) { return V == nearest_V(p.variant, usual); };
    return thresholds(op, is(2) || is(33) || is(1025) || is(4099));
  }
  const bool large = std::find(kOfLargeK.begin(), kOfLargeK.end(), family) != kOfLargeK.end();
  const int all = p.variant.max_k,
            most = large || !is_no_promise("max_k", p.variant) ? all : std::min(all, kUsualK),
            few = std::min(most, kFewK);
  std::vector<int> ks = {std::min(5, most)};
  const auto is = [&](std::int64_t usual) { return V == nearest_V(p.variant, usual); };
  if (family == kEveryK && is(kLengthOfEveryK))
    for (int k = 1; k <= std::min(most, kMostOfEveryK); ++k) ks.push_back(k);
  if (large && (is(1025) || is(4099) || is(32000)))
    for (const int k : kLargeK)
      if (k <= most && k <= V && (p.extent != Extent::quick || (k > 1025) == is(4099))) ks.push_back(k);
  if (is(2) || is(33) || is(1025) || is(4099)) ks.push_back(1);
  if (V > 128)
    ks.push_back(1 + static_cast<int>((static_cast<std::uint64_t>(V) * 0x9e3779b9u >> 8) %
                                      static_cast<std::uint64_t>(few)));
  if (V > 5 && V < most) ks.push_back(static_cast<int>(V));
  if (is(4099) || is(32000)) ks.insert(ks.end(), {few, std::min(most, 4 * kFewK), most});
  for (int& k : ks) k = allowed_k(p.variant, k, V);
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  return {ks.begin(), ks.end()};
}

/// The families that every command tries, and those of this group.
std::vector<std::string> usual_families() {
  std::vector<std::string> names;
  for (const Family& f : all_families())
    if (!f.group || std::string_view(f.group) == "families") names.push_back(f.name);
  return names;
}

/// The row lengths of one family, chosen from the usual ones.
std::vector<std::int64_t> lengths_of(const Planning& p, const Family& family,
                                     std::vector<std::int64_t> usual) {
  const bool quick = p.extent == Extent::quick;
  if (quick && family.quick_V > 0) usual.push_back(family.quick_V);
  std::vector<std::int64_t> lengths = sizes_of(p, usual);
  // The real logits are rows of 32000, cut short: the quick look takes only one length of them.
  if (quick && family.kind == FamilyKind::real && !p.narrow.V)
    std::erase_if(lengths, [&](std::int64_t V) { return V != nearest_V(p.variant, 1025); });
  return lengths;
}

}  // namespace

std::vector<Unit> plan_families(const Planning& p) {
  const bool quick = p.extent == Extent::quick;
  std::vector<std::int64_t> usual(report_sizes().begin(), report_sizes().end());
  if (quick) usual = {0, 1, 2, 33, 128, 1025, 4099};
  const std::vector<std::int64_t> drawn = drawn_sizes(p.extent, p.seed);
  usual.insert(usual.end(), drawn.begin(), drawn.end());
  // For a causal kernel few of the longer lengths are kept.
  if (p.variant.claim.causal != Causal::no) usual.push_back(257);

  FamilyLists lists;
  lists.families = families_of(p, usual_families());
  lists.sizes = [&](const std::string& name, Dtype) { return lengths_of(p, family_named(name), usual); };
  lists.rows = [&](const std::string& name, Dtype dtype, std::int64_t V) {
    const Family& family = family_named(name);
    std::int64_t rows =
        quick ? quick_rows(family, dtype, V) : report_rows(family, dtype, V, p.extent == Extent::full);
    if (std::find(drawn.begin(), drawn.end(), V) != drawn.end()) rows = drawn_rows(family, dtype, V, rows);
    return rows_of(p, {rows});
  };
  lists.picks = [&](const Variant&, const std::string& name, std::int64_t V) {
    return picks_for(p, name, V);
  };
  lists.op = p.narrow.op;
  const Variant* const variant = &p.variant;
  std::vector<Unit> units = family_units({&variant, 1}, lists);
  // Each bench runs them with the variant of its own thread.
  for (Unit& u : units)
    for (ConformanceCase& c : u.cases) c.variant = nullptr;
  const bool probed = p.narrow.family.empty()
                          ? !p.narrow.V && !p.narrow.rows && !p.narrow.op && !p.narrow.pick.any()
                          : p.narrow.family == kProbeFamily;
  // Probes need an exp, a maximum and a division.
  if (probed && not_plain_rows(p.variant, p.variant.op).empty())
    units.push_back(probe_unit({kProbeFamily, 0, 0, p.variant.op, 0}));
  return units;
}

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
  ErrorProfile* const profile = asked.profile ? asked.profile(v, c) : nullptr;
  const auto begin = std::chrono::steady_clock::now();
  Record r = bench.blank(c);
  // Rows that must be aligned get the gaps that they need.
  const Layout room = fitted(plain_layout(), v, bench.problem(c));
  if (const Obstacle why = bench.outside(c, room)) {
    r = bench.unsupported(c, why);
    if (why.why == Why::domain) r.rows_outside = c.rows;
  } else {
    CheckOptions options;
    options.profile = profile;
    // A check looks for the nearest class once for each finding (say_nearest).
    options.nearest = asked.report;
    options.max_ulp = asked.max_ulp;
    options.pitch = asked.narrow.pitch.value_or(0);
    options.seed = asked.seed;
    Record judged = check_case(v, inputs, c.op, c.pick, options);
    judged.group = r.group;
    judged.setup = r.setup;
    judged.seed = r.seed;
    judged.reproduce = r.reproduce;
    r = std::move(judged);
  }
  if (profile) profile->finish();
  const auto took = std::chrono::steady_clock::now() - begin;
  if (r.status == Status::crashed) bench.count({r.reason, Ended::crashed});
  if (r.status == Status::hung) bench.count({r.reason, Ended::hung}, took);
  if (r.status == Status::pass || r.status == Status::fail) bench.count({});
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
  if (const std::string other = not_plain_rows(v, v.op); !other.empty()) {
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
            for (const Pick& pick : picks(op) ? lists.picks(*v, name, V) : std::vector<Pick>{Pick()})
              by_rows[its].cases.push_back({name, V, its, op, pick, {}, v});
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
