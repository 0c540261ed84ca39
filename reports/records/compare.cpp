// SPDX-License-Identifier: Apache-2.0
#include "reports/records/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reference/error.hpp"
#include "reports/records/record_stream.hpp"
#include "reports/records/store.hpp"

namespace assay {

std::vector<Record> read_records(const std::filesystem::path& file) {
  std::vector<Record> out;
  for_each_record(file, [&](const Record& r) { out.push_back(r); });
  if (out.empty()) throw InputError(file.string() + ": holds no record");
  return out;
}

std::string compare_records(const std::vector<Record>& before, const std::vector<Record>& after) {
  const Paired<Record> p = paired(before, after);
  struct Change {
    double factor;
    std::string text;
  };
  std::vector<std::string> verdicts;
  std::vector<Change> worse, better;
  std::int64_t same = 0;
  for (const auto& [o, r] : p.both) {
    if (o->status != r->status)
      verdicts.push_back(
          fmt::format("  {}: {} -> {} ({})\n", identity(*r), name(o->status), name(r->status), r->reason));
    if (o->max_ulp && r->max_ulp && *o->max_ulp != *r->max_ulp) {
      const double factor = *r->max_ulp / *o->max_ulp;
      auto& list = factor > 1 ? worse : better;
      list.push_back({factor > 1 ? factor : 1 / factor, fmt::format("  {}: max ulp {:.4g} -> {:.4g}\n",
                                                                    identity(*r), *o->max_ulp, *r->max_ulp)});
    } else if (o->status == r->status) {
      ++same;
    }
  }
  std::string s = fmt::format(
      "compared: {} records the same, {} less accurate, {} more accurate, {} verdicts changed, {} new, {} "
      "gone\n",
      same, worse.size(), better.size(), verdicts.size(), p.fresh.size(), p.gone.size());
  const auto most = [&s](const char* title, std::vector<Change>& list) {
    if (list.empty()) return;
    std::sort(list.begin(), list.end(), [](const Change& a, const Change& b) { return a.factor > b.factor; });
    s += title;
    for (std::size_t i = 0; i < list.size() && i < 10; ++i) s += list[i].text;
  };
  if (!verdicts.empty()) {
    s += "verdicts:\n";
    for (std::size_t i = 0; i < verdicts.size() && i < 20; ++i) s += verdicts[i];
  }
  most("less accurate:\n", worse);
  most("more accurate:\n", better);
  return s;
}

}  // namespace assay
