// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/rig/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace assay {
namespace {

constexpr std::pair<std::string_view, double> kDataSheets[] = {{"H200", 4800}, {"H100 80GB HBM3", 3350}};

// The sentences on cold caches say it as a word, in device_rig.cpp and in peer_bench.py.
static_assert(kTimingRules.l2_sizes == 2, "cold caches: twice the L2");

}  // namespace

std::string too_long_words() { return fmt::format("over {:g} ms", kTimingRules.too_long_us / 1000); }

std::optional<double> datasheet_gb_per_s(std::string_view gpu) {
  for (const auto& [name, gb_per_s] : kDataSheets)
    if (gpu.find(name) != gpu.npos) return gb_per_s;
  return std::nullopt;
}

bool shape_of_topk_goals(std::int64_t rows, std::int64_t V, std::int64_t k) {
  const auto is_in = [](const auto& all, std::int64_t x) {
    return std::find(std::begin(all), std::end(all), x) != std::end(all);
  };
  if (rows == 10) return is_in(kTopkFew, k) && is_in(kTopkLadderFewRows, V);
  return rows == 4000 && ((is_in(kTopkFew, k) && is_in(kTopkLadder, V)) ||
                          (is_in(kTopkMany, k) && is_in(kTopkManyLadder, V)));
}

std::string timing_rules_json() {
  const TimingRules& r = kTimingRules;
  nlohmann::json sheets = nlohmann::json::array();
  for (const auto& [name, gb_per_s] : kDataSheets) sheets.push_back(nlohmann::json::array({name, gb_per_s}));
  const nlohmann::json all = {{"too_long_us", r.too_long_us},
                              {"warm_us", r.warm_us},
                              {"batch_us", r.batch_us},
                              {"least_us", r.least_us},
                              {"enough_us", r.enough_us},
                              {"least_samples", r.least_samples},
                              {"most_samples", r.most_samples},
                              {"narrow", r.narrow},
                              {"most_launches", r.most_launches},
                              {"l2_sizes", r.l2_sizes},
                              {"tile_elements", r.tile_elements},
                              {"judged_elements", r.judged_elements},
                              {"least_judged_rows", r.least_judged_rows},
                              {"most_judged_rows", r.most_judged_rows},
                              {"ladder", kLadder},
                              {"ladder_few_rows", kLadderFewRows},
                              {"topk_ladder", kTopkLadder},
                              {"topk_many_ladder", kTopkManyLadder},
                              {"topk_ladder_few_rows", kTopkLadderFewRows},
                              {"topk_few", kTopkFew},
                              {"topk_many", kTopkMany},
                              {"datasheets", std::move(sheets)}};
  return all.dump();
}

}  // namespace assay
