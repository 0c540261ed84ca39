// SPDX-License-Identifier: Apache-2.0
#include "reports/runs/utilisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace assay {

std::string class_of(const KeyInfo& k) {
  const bool logs = logarithms(parse_op(k.op).value_or(Op::softmax));
  return fmt::format("{}, exp {}, {}, {} sums, {} outputs", k.algorithm, k.exp,
                     logs ? "op " + k.op : "division " + k.division, k.internals, k.dtype);
}

std::vector<ClassUtilisation> class_utilisation(const std::vector<const KeyTally*>& keys) {
  std::vector<ClassUtilisation> out;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index;
  for (const KeyTally* k : keys)
    for (std::size_t i = 0; i < std::size(kBoundChecks); ++i) {
      const std::string kind = class_of(k->info);
      const auto [it, fresh] = index.try_emplace({k->info.backend, kind, kBoundChecks[i]}, out.size());
      // With 16-bit arithmetic, only rows of one or two terms are judged.
      const bool hidden = (k->info.dtype == "f16" || k->info.dtype == "bf16") &&
                          (std::string_view(kBoundChecks[i]) == "element" || k->info.internals != "f32");
      if (fresh) out.push_back({k->info.backend, kind, kBoundChecks[i], {}, 0, hidden});
      out[it->second].judged += k->checks[i].judged;
      out[it->second].largest.take(k->checks[i].largest);
    }
  std::erase_if(out, [](const ClassUtilisation& u) { return u.judged == 0; });
  return out;
}

std::vector<ClassUtilisation> class_utilisation(const ReportData& data) {
  const Digest d(data);
  return class_utilisation(summary_of(d).keys);
}

}  // namespace assay
