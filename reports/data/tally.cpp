// Counts records. Everything here is one pass over the records or the keys.
#include "reports/data/tally.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "accuracy/conformance/conformance.hpp"
#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"

namespace assay {
namespace {

int severity(Status s) {
  switch (s) {
    case Status::crashed:
      return 0;
    case Status::hung:
      return 1;
    case Status::fail:
      return 2;
    default:
      return 3;
  }
}

const CheckResult* guilty_check(const Record& r) {
  for (const CheckResult& c : r.checks)
    if (r.status == Status::inconclusive ? c.undecided > 0 : c.failed > 0) return &c;
  return nullptr;
}

void add_reason(std::vector<Reason>& reasons, const std::string& text) {
  const std::string word = text.empty() ? "no reason given" : text.substr(0, text.find(':'));
  auto it = std::find_if(reasons.begin(), reasons.end(), [&](const Reason& r) { return r.word == word; });
  if (it == reasons.end()) it = reasons.insert(reasons.end(), {word, text, 0});
  ++it->count;
}

void remember(std::vector<std::string>& seen, const std::string& value) {
  if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
}

std::vector<std::string> ordered(const ReportData& data, std::string KeyInfo::*field,
                                 const std::vector<std::string>& first) {
  std::vector<std::string> seen, out;
  for (const KeyInfo& k : data.keys) remember(seen, k.*field);
  for (const std::string& f : first)
    if (std::find(seen.begin(), seen.end(), f) != seen.end()) out.push_back(f);
  for (const std::string& s : seen) remember(out, s);
  return out;
}

}  // namespace

Counts count(const ReportData& data) {
  Counts c;
  c.planned = data.planned;
  c.executed = data.executed;
  for (const Record& r : data.records) {
    switch (r.status) {
      case Status::pass:
        ++c.pass;
        break;
      case Status::fail:
        ++c.fail;
        break;
      case Status::inconclusive:
        ++c.inconclusive;
        break;
      case Status::unsupported:
        ++c.unsupported;
        break;
      case Status::not_run:
        ++c.not_run;
        break;
      case Status::crashed:
        ++c.crashed;
        break;
      case Status::hung:
        ++c.hung;
        break;
    }
  }
  for (const KeyInfo& k : data.keys) c.not_run_keys += !k.not_run.empty();
  return c;
}

std::vector<Cause> causes(const ReportData& data) {
  std::map<std::tuple<std::string, std::string, Status>, std::size_t> index;
  std::vector<Cause> out;
  for (const Record& r : data.records) {
    if (r.status == Status::pass || !was_judged(r)) continue;
    const CheckResult* check = guilty_check(r);
    const std::string label = check ? name(check->check) : name(r.status);
    auto [it, fresh] = index.try_emplace({r.key, label, r.status}, out.size());
    if (fresh) {
      const std::string detail = check && !check->detail.empty() ? check->detail : r.reason;
      out.push_back({r.key, label, r.status, 0, &r, detail});
    }
    ++out[it->second].count;
  }
  std::stable_sort(out.begin(), out.end(), [](const Cause& a, const Cause& b) {
    return std::make_pair(severity(a.status), -a.count) < std::make_pair(severity(b.status), -b.count);
  });
  return out;
}

std::vector<Reason> unsupported_reasons(const ReportData& data) {
  std::vector<Reason> out;
  for (const Record& r : data.records)
    if (r.status == Status::unsupported) add_reason(out, r.reason);
  return out;
}

std::vector<Reason> not_run_reasons(const ReportData& data) {
  std::vector<Reason> out;
  for (const KeyInfo& k : data.keys)
    if (!k.not_run.empty()) add_reason(out, k.not_run);
  return out;
}

void Extreme::take(double v, const Record& r) {
  if (std::isnan(v) || (record && !(v > value))) return;
  value = v;
  record = &r;
}

bool was_judged(const Record& r) { return r.status != Status::unsupported && r.status != Status::not_run; }

bool is_check(const ReportData& data) {
  return std::any_of(data.records.begin(), data.records.end(),
                     [](const Record& r) { return !r.group.empty(); });
}

bool only_launched(const ReportData& data) {
  bool launched = false;
  for (const Record& r : data.records) {
    if (r.status != Status::pass) continue;
    if (r.group != conformance::kLaunchesGroup) return false;
    launched = true;
  }
  return launched;
}

bool is_real_family(std::string_view family) {
  return family.starts_with("gpt_") || family.starts_with("attention");
}

void KeyTally::take_figures(const Record& r) {
  for (std::size_t i = 0; i < std::size(kFigures); ++i) {
    const std::optional<double>& value = r.*kFigures[i].value;
    if (!value) continue;
    all_[i].take(*value, r);
    if (is_real_family(r.family)) real_[i].take(*value, r);
  }
}

const Extreme& KeyTally::of(const Extremes& largest, std::optional<double> Figures::*figure) {
  std::size_t i = 0;
  while (kFigures[i].value != figure) ++i;
  return largest[i];
}

std::vector<KeyTally> tally_keys(const ReportData& data) {
  std::vector<KeyTally> out;
  std::map<std::string, std::size_t> index;
  for (const KeyInfo& k : data.keys) {
    index[k.key] = out.size();
    out.emplace_back().info = k;
  }
  for (const Record& r : data.records) {
    auto it = index.find(r.key);
    if (it == index.end()) continue;
    KeyTally& t = out[it->second];
    ++t.records;
    t.passed += r.status == Status::pass;
    t.unsupported += r.status == Status::unsupported;
    t.not_run += r.status == Status::not_run;
    // If arithmetic is too coarse for a verdict, its errors are known nevertheless.
    if (!was_judged(r) && !r.max_ulp) continue;
    t.bad += was_judged(r) && r.status != Status::pass;
    t.take_figures(r);
    if (was_judged(r) && r.max_bound_ratio) t.bound.take(*r.max_bound_ratio, r);
    if (r.correctly_rounded && std::isfinite(*r.correctly_rounded)) {
      // The element check counts its comparisons. Without it, all elements of the judged rows count.
      double weight = static_cast<double>(r.rows_judged) * static_cast<double>(r.V);
      for (const CheckResult& c : r.checks)
        if (c.check == Check::element && c.judged > 0) weight = static_cast<double>(c.judged);
      t.rounded += weight * *r.correctly_rounded;
      t.elements += weight;
    }
  }
  return out;
}

std::vector<std::string> backends(const ReportData& data) {
  return ordered(data, &KeyInfo::backend, {"cuda", "host", "host_fma", "plugin"});
}
std::vector<std::string> dtypes(const ReportData& data) {
  std::vector<std::string> names;
  for (const Dtype t : kDtypes) names.emplace_back(name(t));
  return ordered(data, &KeyInfo::dtype, names);
}
std::vector<std::string> variants(const ReportData& data) { return ordered(data, &KeyInfo::variant, {}); }

std::string verdict_reason(const ReportData& data) {
  const Counts c = count(data);
  if (data.executed == 0) return "no case was executed, so nothing was shown";
  if (data.executed < data.planned)
    return fmt::format("{} of {} planned cases did not run", grouped(data.planned - data.executed),
                       grouped(data.planned));
  std::vector<std::string> parts;
  const auto part = [&](std::int64_t n, const char* what) {
    if (n > 0) parts.push_back(fmt::format("{} {}", grouped(n), what));
  };
  part(c.crashed, "crashed");
  part(c.hung, "hung");
  part(c.fail, "failed a check");
  part(c.inconclusive, "stayed undecided");
  if (parts.empty() && c.pass == 0)
    return "no case could be judged: all lie outside a domain or are not expressible";
  if (parts.empty() && only_launched(data)) return "launches came back, and no output was judged";
  if (parts.empty())
    return c.unsupported ? "all planned cases ran and every one inside its kernel's declared domain passed"
                         : "all planned cases ran and passed";
  return fmt::format("of {} planned cases {}", grouped(data.planned), fmt::join(parts, ", "));
}

bool has_resolution(const Record& r) {
  const bool logarithm = r.op == "lse" || r.op == "log_softmax";
  return r.status == Status::pass && r.resolution && !(logarithm && *r.resolution > 1e-3);
}

std::string resolution_line(const std::vector<Record>& records) {
  const Record* typical = nullptr;
  double common = 0;
  for (const Record& r : records) {
    if (!has_resolution(r)) continue;
    if (!typical || *r.resolution > *typical->resolution) typical = &r;
    common = std::max(common, r.resolution_sum.value_or(0));
  }
  if (!typical) return {};
  return fmt::format(
      "resolution: a typical output off by more than {:.2g}, or a whole row by more than {:.2g}, would have "
      "been refused everywhere (coarsest: {}, row length V = {})",
      *typical->resolution, common, typical->family, grouped(typical->V));
}

}  // namespace assay
