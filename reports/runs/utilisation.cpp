#include "reports/runs/utilisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace assay {

std::string class_of(const KeyInfo& k) {
  const bool logs = k.op == "lse" || k.op == "log_softmax";
  return fmt::format("{}, exp {}, {}, {} sums, {} outputs", k.algorithm, k.exp,
                     logs ? "op " + k.op : "division " + k.division, k.internals, k.dtype);
}

std::vector<ClassUtilisation> class_utilisation(const ReportData& data) {
  std::map<std::string, const KeyInfo*> keys;
  for (const KeyInfo& k : data.keys) keys[k.key] = &k;
  std::vector<ClassUtilisation> out;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> index;
  for (const KeyInfo& k : data.keys)
    for (const char* check : kBoundChecks) {
      const auto [it, fresh] = index.try_emplace({k.backend, class_of(k), check}, out.size());
      if (fresh) out.push_back({k.backend, class_of(k), check, {}, 0});
    }
  for (const Record& r : data.records) {
    const auto key = keys.find(r.key);
    if (key == keys.end() || !was_judged(r)) continue;
    for (const CheckResult& c : r.checks) {
      const auto it = index.find({r.backend, class_of(*key->second), name(c.check)});
      if (it == index.end()) continue;
      out[it->second].judged += c.judged;
      out[it->second].largest.take(c.utilisation, r);
    }
  }
  std::erase_if(out, [](const ClassUtilisation& u) { return u.judged == 0; });
  return out;
}

bool hidden_by_rounding(const ClassUtilisation& u) {
  const bool narrow = u.kind.ends_with(" f16 outputs") || u.kind.ends_with(" bf16 outputs");
  // With 16-bit arithmetic, only rows of one or two terms are judged.
  return narrow && (u.check == "element" || u.kind.find("f32 sums, ") == std::string::npos);
}

}  // namespace assay
