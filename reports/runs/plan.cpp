// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/plan.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/probes/probes.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/key_hint.hpp"
#include "reference/error.hpp"
#include "reference/files/tensor_file.hpp"
#include "reference/k_range.hpp"

namespace assay {
namespace {

constexpr int kDefaultK = 5;  // as in the paper
constexpr int kLargestK = 64;
/// Kernels that select more do so in one way up to 256 and in another beyond.
constexpr int kLargerK[] = {256, 1024};
constexpr std::int64_t kMostV = std::int64_t{1} << 26;
constexpr std::int64_t kMostElements = std::int64_t{1} << 28;

std::vector<const Variant*> select_keys(const Selection& s) {
  std::vector<Dtype> dtypes;
  for (const std::string& d : s.dtypes) {
    const auto t = parse_dtype(d);
    if (!t) throw InputError("--dtype " + d + ": unknown, one of f16, bf16, f32");
    dtypes.push_back(*t);
  }
  std::vector<const Variant*> keys;
  std::vector<bool> used(s.keys.size(), false);
  for (const Variant& v : registry()) {
    // host_fma kernels are the same sources compiled with contraction. They would double the time of the
    // default plan, so they run only if named or with --full.
    bool wanted = s.keys.empty() && (v.backend != Backend::host_fma || s.full);
    for (std::size_t i = 0; i < s.keys.size(); ++i)
      if (fnmatch(s.keys[i].c_str(), v.key().c_str(), 0) == 0) wanted = used[i] = true;
    if (!dtypes.empty() && std::find(dtypes.begin(), dtypes.end(), v.dtype) == dtypes.end()) wanted = false;
    if (wanted) keys.push_back(&v);
  }
  for (std::size_t i = 0; i < s.keys.size(); ++i)
    if (!used[i])
      throw InputError("--key " + s.keys[i] + ": no such key; assay list names them all" +
                       did_you_mean_key(s.keys[i]));
  if (keys.empty()) throw InputError("no key is left by --key and --dtype");
  return keys;
}

std::vector<const Family*> select_families(const Selection& s) {
  std::vector<const Family*> out;
  if (!s.logits.empty()) return out;
  for (const Family& f : s.families.empty() ? families() : all_families())
    if (s.families.empty() || std::find(s.families.begin(), s.families.end(), f.name) != s.families.end())
      out.push_back(&f);
  for (const std::string& name : s.families)
    if (name != kProbeFamily) family_named(name);
  return out;
}

/// The k values of a top-k job: always the paper's 5; at short rows also 1 and k = V; at 4099 and 32000 also
/// 64 and what the variant selects beyond. There a thread reads 64 elements or more, and may hold all
/// winners. The thresholds of min_p and top_p: the usual one everywhere, all of them at three row lengths; in
/// a quick report at V = 33 alone.
std::vector<Pick> picks_for(const Selection& s, const Variant& v, const std::string& family, std::int64_t V) {
  const Op op = s.op ? *parse_op(*s.op) : v.op;
  if (s.pick.any()) return {s.pick.of_one(op, usual_pick(op))};
  if (keeps_a_set(op)) return thresholds(op, V == 33 || (!s.quick && (V == 2 || V == 4099)));
  if (V == 2 || V == 33) return {1, kDefaultK, static_cast<int>(V)};
  if (V > kDefaultK && V < kLargestK) return {kDefaultK, static_cast<int>(V)};
  std::vector<Pick> ks = {kDefaultK};
  // In a sweep of hundreds of rows a longer list would show nothing new.
  if (!find_family(family) || (V != 4099 && V != 32000) || family == "spike") return ks;
  ks.push_back(kLargestK);
  for (const int k : kLargerK)
    if (k <= v.max_k) ks.push_back(k);
  return ks;
}

/// The families that a quick report tries at its longest rows, which would take half of its time: recorded
/// rows, and every third of the others, so that each kind of attack is met.
std::set<std::string> families_of_long_rows(const std::vector<const Family*>& families) {
  std::set<std::string> out;
  for (std::size_t i = 0; i < families.size(); ++i)
    if (families[i]->kind == FamilyKind::real || i % 3 == 0) out.insert(families[i]->name);
  return out;
}

/// The selected families at the selected V. `sizes` is sorted.
conformance::FamilyLists lists_of(const Selection& s, const std::vector<const Family*>& families,
                                  const std::vector<std::int64_t>& sizes) {
  conformance::FamilyLists lists;
  for (const Family* f : families) lists.families.push_back(f->name);
  std::set<std::string> long_rows(lists.families.begin(), lists.families.end());
  if (s.quick && s.sizes.empty() && s.families.empty()) long_rows = families_of_long_rows(families);
  lists.sizes = [sizes, long_rows](const std::string& family, Dtype) {
    const bool all = family == kProbeFamily || long_rows.contains(family);
    return all ? sizes : std::vector(sizes.begin(), std::prev(sizes.end()));
  };
  lists.rows = [&s](const std::string& family, Dtype dtype, std::int64_t V) {
    const Family& f = family_named(family);
    if (s.rows) return std::vector{*s.rows};
    const std::int64_t rows = report_rows(f, dtype, V, s.full);
    return std::vector{s.quick ? std::min(rows, quick_rows(f, dtype, V)) : rows};
  };
  return lists;
}

/// The same for the rows of an .npy file.
conformance::FamilyLists lists_of_file(const Tensor& t, std::int64_t rows) {
  conformance::FamilyLists lists;
  lists.families = {kLogitsFamily};
  lists.sizes = [dtype = t.dtype, V = t.V](const std::string&, Dtype wanted) {
    return wanted == dtype ? std::vector{V} : std::vector<std::int64_t>();
  };
  lists.rows = [rows](const std::string&, Dtype, std::int64_t) { return std::vector{rows}; };
  return lists;
}

/// Checks before anything runs that every case's problem is valid.
void check_problems(const conformance::Unit& u, const Selection& s) {
  bool any_k = !s.pick.k;
  for (const conformance::ConformanceCase& c : u.cases) {
    const Problem p = problem_of(*c.variant, c.op, c.rows, c.V, c.pick, s.pitch.value_or(c.V));
    if (const std::string why = invalid_reason(p); !why.empty())
      throw InputError((s.pitch ? "--pitch: " : "") + why);
    any_k = any_k || !selects(c.op) || c.pick.k <= c.variant->max_k;
  }
  if (any_k) return;
  int most = 0;
  for (const conformance::ConformanceCase& c : u.cases) most = std::max(most, c.variant->max_k);
  throw InputError(fmt::format("--k {}: no selected key goes beyond {}", *s.pick.k, most));
}

void count_units(Plan& plan) {
  plan.rows = plan.records = plan.elements = 0;
  for (const conformance::Unit& u : plan.units) {
    const conformance::ConformanceCase& first = u.cases[0];
    const auto cases = static_cast<std::int64_t>(u.cases.size());
    plan.records += cases;
    if (first.family == kProbeFamily) continue;
    plan.rows += first.rows;
    plan.elements += cases * first.rows * first.V;
  }
}

}  // namespace

Plan make_plan(const Selection& s) {
  Plan plan;
  if (s.op && !parse_op(*s.op)) throw InputError("--op " + *s.op + ": unknown operation");
  if (s.rows && (*s.rows < 1 || *s.rows > 1 << 24))
    throw InputError(fmt::format("--rows {}: must be 1 to 16777216", *s.rows));
  if (s.quick && s.full) throw InputError("--quick and --full: take one of them");
  if (s.pitch && *s.pitch < 1) throw InputError(fmt::format("--pitch {}: must be 1 or more", *s.pitch));
  for (std::int64_t V : s.sizes)
    if (V < 0 || V > kMostV) throw InputError(fmt::format("--V {}: must be 0 to {}", V, kMostV));
  if (!s.logits.empty() && (!s.families.empty() || !s.sizes.empty()))
    throw InputError("--logits replaces --family and --V: leave them out");
  plan.keys = select_keys(s);
  plan.families = select_families(s);
  const auto op_of = [&](const Variant* v) { return s.op ? *parse_op(*s.op) : v->op; };
  if (std::none_of(plan.keys.begin(), plan.keys.end(), [&](const Variant* v) { return selects(op_of(v)); }))
    for (const Variant* v : plan.keys) s.pick.of(op_of(v), {});
  conformance::FamilyLists lists;
  if (!s.logits.empty()) {
    const bool bf16 = std::all_of(plan.keys.begin(), plan.keys.end(),
                                  [](const Variant* v) { return v->dtype == Dtype::bf16; });
    const Tensor t = tensor_of(read_stored(s.logits, "logits"), bf16 ? Bf16::as_u2 : Bf16::refused);
    if (t.rows == 0 || t.V == 0) throw InputError(s.logits + ": holds no logits");
    if (t.V > kMostV)
      throw InputError(fmt::format("{}: rows of {} are longer than {}", s.logits, t.V, kMostV));
    if (std::none_of(plan.keys.begin(), plan.keys.end(),
                     [&](const Variant* v) { return v->dtype == t.dtype; }))
      throw InputError(s.logits + ": its dtype is " + name(t.dtype) + ", and no selected key takes that");
    plan.sizes = {t.V};
    lists = lists_of_file(t, s.rows ? std::min(*s.rows, t.rows) : t.rows);
  } else {
    const auto defaults = s.quick ? quick_report_sizes() : report_sizes();
    plan.sizes = s.sizes.empty() ? std::vector<std::int64_t>(defaults.begin(), defaults.end()) : s.sizes;
    std::sort(plan.sizes.begin(), plan.sizes.end());
    plan.sizes.erase(std::unique(plan.sizes.begin(), plan.sizes.end()), plan.sizes.end());
    lists = lists_of(s, plan.families, plan.sizes);
  }
  if (s.op) lists.op = parse_op(*s.op);
  lists.picks = [&s](const Variant& v, const std::string& family, std::int64_t V) {
    return picks_for(s, v, family, V);
  };
  plan.units = conformance::family_units(plan.keys, lists);
  // What was asked for by name is never left out.
  if (!s.full && s.sizes.empty() && s.families.empty() && s.logits.empty() && !s.rows)
    conformance::thin_squares(plan.units);
  for (const conformance::Unit& u : plan.units) {
    const std::int64_t V = u.cases[0].V, rows = u.cases[0].rows;
    if (V > 0 && rows > kMostElements / V)
      throw InputError(
          fmt::format("{} rows of V = {} are more than {} elements in one case", rows, V, kMostElements));
    check_problems(u, s);
  }
  plan.probes = s.families.empty()
                    ? s.logits.empty() && !s.op
                    : std::find(s.families.begin(), s.families.end(), kProbeFamily) != s.families.end();
  if (plan.probes)
    for (const Variant* v : plan.keys)
      plan.units.push_back(conformance::probe_unit({kProbeFamily, kProbeV, 1, v->op, 0, {}, v}));
  count_units(plan);
  if (plan.records == 0) throw InputError("the plan is empty: no selected family exists at the selected V");
  return plan;
}

std::vector<double> weights_of(const Plan& plan) {
  std::vector<double> all;
  for (const conformance::Unit& u : plan.units) all.push_back(u.weight);
  return all;
}

void keep_units(Plan& plan, const std::vector<std::size_t>& kept) {
  std::vector<conformance::Unit> units;
  for (const std::size_t i : kept) units.push_back(std::move(plan.units[i]));
  plan.units = std::move(units);
  count_units(plan);
}

std::string describe(const Plan& p) {
  if (p.rows == 0) return fmt::format("the probes of {} keys: {} records", p.keys.size(), p.records);
  return fmt::format(
      "{} keys x {} x {} V, {} rows of input{}: {} records, {:.1f} million elements", p.keys.size(),
      p.families.empty() ? "1 file" : fmt::format("{} families", p.families.size()), p.sizes.size(), p.rows,
      p.probes ? " and the probes" : "", p.records, static_cast<double>(p.elements) / 1e6);
}

}  // namespace assay
