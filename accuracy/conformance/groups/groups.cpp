// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/groups/groups.hpp"

#include <algorithm>
#include <numeric>

#include "accuracy/bounds/bounds.hpp"
#include "accuracy/verdict/behaves_like.hpp"

namespace assay::conformance {

std::span<const Group> groups() {
  static constexpr Group all[] = {
      {"families", "Every input family: ordinary rows, wide ranges, ties and special values.", plan_families},
      {"shapes", "Every row length to 4096 and those where a dispatch may change: tails, tiles, vectors.",
       plan_shapes},
      {"operands", "Scale, temperature, mask, bias and lengths: the softmax of the logits that they make.",
       plan_operands},
      {"rows", "No row, one, and more than a grid's dimensions or the machine holds at once.", plan_rows},
      {"layout",
       "Pitch, alignment, guard bands, the end of a page, in place: reads and writes beside the rows.",
       plan_layout},
      {"repeat", "The same launch a hundred times: races and uninitialised memory.", plan_repeat},
      {"calls", "One call after another: state and results kept from call to call.", plan_calls},
      {"streams", "Two streams at once, inputs that arrive late, writes after the end.", plan_streams},
      {"batch", "The same row in other batches and places.", plan_batch},
      {"schedules", "Other orders of threads, warps and blocks (host executor).", plan_schedules},
      {"big", "More than 2^31 and 2^32 elements: offsets that 32 bits do not hold.", plan_big},
      {kLaunchesGroup,
       "A launch of each kind and nothing else, for a tool that watches: outputs are not judged.",
       plan_launches, true},
  };
  return all;
}

namespace {

/// Dense rows that all start aligned have a length that is a multiple of this.
std::int64_t multiple_of_aligned(const Variant& v) {
  const Limits& l = v.limits;
  std::int64_t all = l.V_multiple;
  if (!l.dense || l.alignment <= 1) return all;
  for (const Dtype t : {v.dtype, v.out()}) {
    if (t == v.out() && t != v.dtype && (selects(v.op) || one_value(v.op))) continue;
    const auto element = static_cast<std::int64_t>(size_of(t));
    all = std::lcm(all, l.alignment / std::gcd(l.alignment, element));
  }
  return all;
}

}  // namespace

std::int64_t nearest_V(const Variant& v, std::int64_t V, std::int64_t rows) {
  const Limits& l = v.limits;
  // Every kernel is tried on empty rows. A kernel that does not promise them is not judged by them.
  if (V == 0) return 0;
  if (l.V_in.count > 0) {
    for (int i = 0; i < l.V_in.count; ++i)
      if (l.V_in.all[static_cast<std::size_t>(i)] >= V) return l.V_in.all[static_cast<std::size_t>(i)];
    return l.V_in.all[static_cast<std::size_t>(l.V_in.count - 1)];
  }
  const auto nearest = [&](std::int64_t step) {
    const std::int64_t next = (std::max(V, l.min_V) + step - 1) / step * step;
    return l.max_V > 0 ? std::min(next, l.max_V / step * step) : next;
  };
  // Between the smallest and the largest length there may be no such multiple.
  if (rows > 1)
    if (const std::int64_t aligned = nearest(multiple_of_aligned(v));
        aligned >= std::max<std::int64_t>(1, l.min_V))
      return aligned;
  return nearest(l.V_multiple);
}

std::int64_t nearest_rows(const Limits& l, std::int64_t rows) {
  // More rows than this would fill the memory at any length. The cases of such a kernel report that they are
  // outside.
  constexpr std::int64_t kMost = 4096;
  return l.min_rows > kMost || l.rows_multiple > kMost ? rows : allowed_rows(l, rows);
}

std::vector<std::int64_t> sizes_of(const Planning& p, std::vector<std::int64_t> usual) {
  if (p.narrow.V) return {*p.narrow.V};
  std::vector<std::int64_t> sizes;
  for (const std::int64_t V : usual)
    if (const std::int64_t fits = nearest_V(p.variant, V);
        std::find(sizes.begin(), sizes.end(), fits) == sizes.end())
      sizes.push_back(fits);
  return sizes;
}

std::vector<std::int64_t> rows_of(const Planning& p, std::vector<std::int64_t> usual) {
  if (p.narrow.rows) return {*p.narrow.rows};
  std::vector<std::int64_t> rows;
  for (const std::int64_t n : usual)
    if (const std::int64_t fits = nearest_rows(p.variant.limits, n);
        std::find(rows.begin(), rows.end(), fits) == rows.end())
      rows.push_back(fits);
  return rows;
}

std::vector<std::string> families_of(const Planning& p, std::vector<std::string> usual) {
  if (p.narrow.family == kProbeFamily) return {};
  return p.narrow.family.empty() ? usual : std::vector<std::string>{p.narrow.family};
}

Op op_of(const Planning& p) { return p.narrow.op.value_or(p.variant.op); }

Pick pick_of(const Planning& p, std::int64_t V) {
  const Op op = op_of(p);
  return p.narrow.pick.of(
      op, selects(op) ? Pick(allowed_k(p.variant, std::min(5, p.variant.max_k), V)) : usual_pick(op));
}

int allowed_k(const Variant& v, int k, std::int64_t V) {
  return v.limits.k_up_to_V ? static_cast<int>(std::clamp<std::int64_t>(V, 1, k)) : k;
}

double weight_of(std::int64_t rows, std::int64_t V) {
  return static_cast<double>(rows) * (static_cast<double>(V) + 512);
}

}  // namespace assay::conformance
