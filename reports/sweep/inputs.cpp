// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/inputs.hpp"

#include <algorithm>

#include "reference/error.hpp"
#include "reports/sweep/rig/rules.hpp"

namespace assay {
namespace {

constexpr std::size_t kTiles = std::size_t{1} << 31;      // limit on all tiles, in bytes
constexpr std::int64_t kSamples = std::int64_t{1} << 24;  // limit on all samples; some 80 bytes each

/// Moves the entry to the front, then removes entries from the back until the limit holds.
template <class Pointer, class Size>
const Pointer& kept(std::list<Pointer>& list, typename std::list<Pointer>::iterator at, Size size,
                    decltype(size(*std::declval<const Pointer&>())) most) {
  list.splice(list.begin(), list, at);
  decltype(most) all = 0;
  for (auto i = list.begin(); i != list.end();) {
    all += size(**i);
    i = all > most && i != list.begin() ? list.erase(i) : std::next(i);
  }
  return list.front();
}

}  // namespace

SweepInputs::SweepInputs(const std::string& family, std::uint64_t seed)
    : family_(family_named(family)), seed_(seed) {}

std::int64_t SweepInputs::distinct_rows(std::int64_t V, std::int64_t rows) const {
  constexpr std::int64_t kAligned =
      16;  // rows of 2-byte elements that fill whole sectors of 32 bytes, for any V
  std::int64_t most = std::max<std::int64_t>(1, kTimingRules.tile_elements / std::max<std::int64_t>(1, V));
  if (most > kAligned) most -= most % kAligned;
  return std::min(rows, most);
}

const Tensor& SweepInputs::tile(Dtype dtype, std::int64_t V, std::int64_t rows) {
  const std::int64_t wanted = distinct_rows(V, rows);
  auto at = std::find_if(tiles_.begin(), tiles_.end(),
                         [&](const auto& t) { return t->dtype == dtype && t->V == V; });
  if (at != tiles_.end() && (*at)->rows < wanted) {
    tiles_.erase(at);
    at = tiles_.end();
  }
  if (at == tiles_.end())
    at = tiles_.insert(tiles_.end(),
                       std::make_unique<Tensor>(make_input(family_, dtype, V, wanted, seed_, 0)));
  return *kept(
      tiles_, at, [](const Tensor& t) { return t.bytes.size(); }, kTiles);
}

std::shared_ptr<const Case> SweepInputs::sample(Dtype dtype, std::int64_t V, std::int64_t rows) {
  const TimingRules& rules = kTimingRules;
  const std::int64_t several = std::clamp(rules.judged_elements / std::max<std::int64_t>(1, V),
                                          rules.least_judged_rows, rules.most_judged_rows);
  const std::int64_t wanted = std::min(several, distinct_rows(V, rows));
  auto at = std::find_if(samples_.begin(), samples_.end(), [&](const auto& c) {
    return c->dtype() == dtype && c->V() == V && c->rows() == wanted;
  });
  if (at == samples_.end())
    at = samples_.insert(samples_.end(), std::make_shared<const Case>(family_, dtype, V, wanted, seed_));
  return kept(
      samples_, at, [](const Case& c) { return c.rows() * c.V(); }, kSamples);
}

}  // namespace assay
