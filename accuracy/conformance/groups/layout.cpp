// SPDX-License-Identifier: Apache-2.0
// The layout of the buffers: pitches with poisoned gaps, first rows off alignment, guard bands of NaN and of
// a large finite number, the end of a page, outputs over the logits (in place).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "accuracy/conformance/groups/groups.hpp"
#include "kernels/candidate.hpp"

namespace assay::conformance {
namespace {

constexpr std::size_t kWideGuard = std::size_t{1} << 16;

/// The layouts by their setup.
std::vector<std::pair<Setup, Layout>> layouts(const Planning& p) {
  std::vector<std::pair<Setup, Layout>> all;
  const auto add = [&](Setup setup, Layout l) { all.emplace_back(std::move(setup), l); };
  const std::int64_t extra = p.narrow.pitch && p.narrow.V ? *p.narrow.pitch - *p.narrow.V : 0;
  const auto gap = [&](std::int64_t usual) { return extra > 0 ? extra : usual; };
  add(SetupKind::guard_nan, {.poison = 0, .guard = kWideGuard});
  add(SetupKind::guard_finite, {.poison = 1, .guard = kWideGuard});
  add(SetupKind::outputs_finite, {.poison = 1, .outputs = Stale::finite, .guard = kWideGuard});
  add(SetupKind::pitch_logits, {.in_gap = gap(3), .poison = 1});
  add(SetupKind::pitch_probs, {.out_gap = gap(3), .poison = 1});
  add(SetupKind::pitch_both, {.in_gap = gap(5), .out_gap = gap(5), .poison = 0});
  add(SetupKind::pitch_unequal, {.in_gap = gap(8), .out_gap = gap(24), .poison = 1});
  const auto element =
      static_cast<std::int64_t>(std::max(size_of(p.variant.dtype), size_of(p.variant.out())));
  const auto shift = static_cast<std::int64_t>(std::min(size_of(p.variant.dtype), size_of(p.variant.out())));
  for (std::int64_t bytes = shift; bytes < 16 * shift / element + shift && bytes < 16; bytes += shift)
    add({SetupKind::offset, bytes}, {.offset = bytes / shift, .poison = static_cast<int>(bytes / shift % 2)});
  // Offset by whole vectors from an allocator's address.
  for (std::int64_t bytes = 16; bytes <= 128; bytes *= 2)
    add({SetupKind::offset, bytes}, {.offset = bytes / shift, .poison = 1});
  // The logits aligned and the outputs not, and vice versa.
  add(SetupKind::probs_off, {.out_offset = 1, .poison = 1});
  add(SetupKind::logits_off, {.offset = 1, .out_offset = -1, .poison = 0});
  add(SetupKind::in_place, {.poison = 1, .launch = {.in_place = true}});
  add(SetupKind::page_end, {.poison = 1, .launch = {.page_end = true}});
  return all;
}

}  // namespace

std::vector<Unit> plan_layout(const Planning& p) {
  std::vector<Unit> units;
  const std::map<Setup, Layout> by_name = [&] {
    const auto all = layouts(p);
    return std::map<Setup, Layout>(all.begin(), all.end());
  }();
  // Rows that end at, before and after a vector of 2, 4 and 8; one long enough for a vectorised path; rows
  // shorter than any vector, which a copy of fixed size overruns.
  std::vector<std::int64_t> sizes = {1, 3, 33, 64, 1000, 1027, 4096, 5001};
  if (p.extent != Extent::quick) sizes.insert(sizes.end(), {8192, 10003, 20000});
  for (const std::int64_t V : sizes_of(p, sizes))
    for (const std::int64_t rows : rows_of(p, {3}))
      for (const std::string& family : families_of(p, {"row_drawn"})) {
        Unit u;
        for (const auto& [setup, layout] : layouts(p)) {
          if (layout.launch.in_place &&
              (one_value(op_of(p)) || op_of(p) == Op::normalizer || selects(op_of(p))))
            continue;
          u.cases.push_back({family, V, rows, op_of(p), k_of(p, V), setup});
          u.weight += weight_of(rows, V);
        }
        u.run = [by_name](Bench& bench, const std::vector<ConformanceCase>& cases) {
          const Case inputs = bench.inputs(cases[0]);
          for (std::size_t i = 0; i < cases.size() && bench.go_on(); ++i)
            bench.emit(i, bench.judge(cases[i], inputs, by_name.at(cases[i].setup)));
        };
        units.push_back(std::move(u));
      }
  const Launcher* const launcher = p.variant.launcher.get();
  if (p.narrow.V || !launcher || !launcher->cannot(by_name.at("page_end").launch).empty()) return units;
  // A read of one column too many changes no result. So every remainder that a vector, a warp or a tile of 64
  // may leave ends at a page boundary once, in rows of one tile and in longer ones.
  std::vector<std::int64_t> rests;
  for (std::int64_t V = 2; V < 64; ++V) rests.insert(rests.end(), {V, 1088 + V});
  std::erase_if(rests,
                [&](std::int64_t V) { return std::find(sizes.begin(), sizes.end(), V) != sizes.end(); });
  for (const std::int64_t V : sizes_of(p, rests))
    for (const std::int64_t rows : rows_of(p, {3}))
      for (const std::string& family : families_of(p, {"row_drawn"}))
        units.push_back(
            {{{family, V, rows, op_of(p), k_of(p, V), "page_end"}},
             [end = by_name.at("page_end")](Bench& bench, const std::vector<ConformanceCase>& cases) {
               bench.emit(0, bench.judge(cases[0], bench.inputs(cases[0]), end));
             },
             weight_of(rows, V)});
  return units;
}

}  // namespace assay::conformance
