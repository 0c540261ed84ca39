// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep_page/invariance.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "reports/data/html.hpp"

namespace assay::speed {

std::string InvarianceLine::least_and_most() const {
  const auto one = [](const Factor& f) { return fmt::format("{:.2f}x (V = {})", f.factor, grouped(f.V)); };
  return least.V == most.V ? one(least) : one(least) + " to " + one(most);
}
std::string InvarianceLine::mean() const { return fmt::format("{:.2f}x", geometric_mean); }

std::vector<InvarianceLine> invariance_lines(const Context& c) {
  std::set<std::int64_t, std::greater<>> rows;
  for (const SweepRecord* r : c.timed)
    if (variant_of(r->key) == "onepass_invariant") rows.insert(r->rows);
  std::vector<InvarianceLine> out;
  for (const std::int64_t n : rows)
    for (const std::string& d : c.dtypes) {
      InvarianceLine line{n, d, "", {}, {}, 0};
      double logs = 0;
      std::vector<std::int64_t> common;
      for (const std::int64_t V : c.sizes("onepass_invariant", d, n)) {
        const SweepRecord* const fast = c.at("onepass_fast", d, n, V);
        if (!fast) continue;
        const InvarianceLine::Factor f{*c.at("onepass_invariant", d, n, V)->median_us / *fast->median_us, V};
        if (common.empty() || f.factor < line.least.factor) line.least = f;
        if (common.empty() || f.factor > line.most.factor) line.most = f;
        logs += std::log(f.factor);
        common.push_back(V);
      }
      if (common.empty()) continue;
      line.geometric_mean = std::exp(logs / static_cast<double>(common.size()));
      line.lengths = common.size() == 1 ? "V = " + grouped(common[0])
                                        : fmt::format("{} V from {} to {}", common.size(),
                                                      grouped(common.front()), grouped(common.back()));
      out.push_back(std::move(line));
    }
  return out;
}

}  // namespace assay::speed
