// What `assay check` tries of the group `families`: every family, special values among them, at the
// vocabulary sizes and at drawn ones.
#include <algorithm>

#include "accuracy/behaves_like.hpp"
#include "accuracy/conformance/family_units.hpp"
#include "accuracy/conformance/groups.hpp"
#include "reference/inputs.hpp"

namespace assay::conformance {
namespace {

/// The quick look's one row length with columns past 65535.
constexpr std::int64_t kPast16Bits = 70001;

/// Every k has rows of this family and this length: one that is selected wrongly hides between round numbers.
constexpr const char* kEveryK = "normal_1";
constexpr std::int64_t kLengthOfEveryK = 1025;
constexpr int kMostOfEveryK = 128;

/// 1, 5, every element, as many as the variant can, and one in between.
std::vector<int> ks_for(const Planning& p, const std::string& family, std::int64_t V) {
  if (p.narrow.k) return {*p.narrow.k};
  const int most = p.variant.max_k;
  std::vector<int> ks = {std::min(5, most)};
  if (family == kEveryK && V == nearest_V(p.variant.limits, kLengthOfEveryK))
    for (int k = 1; k <= std::min(most, kMostOfEveryK); ++k) ks.push_back(k);
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

bool known(const std::string& name) {
  const auto more = more_families();
  return find_family(name) ||
         std::any_of(more.begin(), more.end(), [&](const Family& f) { return f.name == name; });
}

}  // namespace

std::vector<Unit> plan_families(const Planning& p) {
  const bool quick = p.extent == Extent::quick;
  std::vector<std::int64_t> usual(report_sizes().begin(), report_sizes().end());
  if (quick) usual = {0, 1, 2, 33, 128, 1025, 4099};
  const std::vector<std::int64_t> drawn = drawn_sizes(p.extent, p.seed);
  usual.insert(usual.end(), drawn.begin(), drawn.end());
  // Of a causal kernel few of the longer lengths are left.
  if (p.variant.claim.causal != Causal::no) usual.push_back(257);
  std::vector<std::string> names;
  for (const Family& f : families()) names.push_back(f.name);
  names.push_back(kLowest);
  names.push_back(kWidths);
  names.push_back(kMagnitudes);

  FamilyLists lists;
  lists.families = families_of(p, names);
  std::erase_if(lists.families, [](const std::string& name) { return !known(name); });
  lists.sizes = [&](const std::string& name, Dtype) {
    std::vector<std::int64_t> lengths = usual;
    if (name == kWidths && quick) lengths.push_back(kPast16Bits);
    lengths = sizes_of(p, lengths);
    // The real logits are rows of 32000 cut short: the quick look takes one length of them.
    const Family* const family = find_family(name);
    if (quick && family && family->kind == FamilyKind::real && !p.narrow.V)
      std::erase_if(lengths, [](std::int64_t V) { return V != 1025; });
    return lengths;
  };
  lists.rows = [&](const std::string& name, Dtype dtype, std::int64_t V) {
    const Family* const family = find_family(name);
    std::int64_t rows = family                ? report_rows(*family, dtype, V, p.extent == Extent::full)
                        : name == kWidths     ? kWidthRows
                        : name == kMagnitudes ? (V > 2048 ? 4 : kMagnitudeRows)
                                              : 4;
    if (quick && family) rows = std::min<std::int64_t>(rows, V > 2048 ? 1 : 8);
    if (name == kMagnitudes && quick) rows = V > 1000 ? rows : V == 33 ? kMagnitudeRows : 8;
    // A family of several patterns has one in each row: at the start, at the end, in between.
    if (family && std::find(drawn.begin(), drawn.end(), V) != drawn.end())
      rows = std::min<std::int64_t>(8, report_rows(*family, dtype, std::min<std::int64_t>(V, 1025), false));
    return rows_of(p, {rows});
  };
  lists.ks = [&](const Variant&, const std::string& name, std::int64_t V) { return ks_for(p, name, V); };
  lists.op = p.narrow.op;
  const Variant* const variant = &p.variant;
  std::vector<Unit> units = family_units({&variant, 1}, lists);
  // Each bench runs them on the variant of its own thread.
  for (Unit& u : units)
    for (ConformanceCase& c : u.cases) c.variant = nullptr;
  const bool probed = p.narrow.family.empty() ? !p.narrow.V && !p.narrow.rows && !p.narrow.op && !p.narrow.k
                                              : p.narrow.family == kProbeFamily;
  // Probes ask for an exp, a maximum and a division.
  if (probed && not_plain_rows(p.variant.claim, p.variant.op).empty())
    units.push_back(probe_unit({kProbeFamily, 0, 0, p.variant.op, 0}));
  return units;
}

}  // namespace assay::conformance
