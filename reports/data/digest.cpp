// SPDX-License-Identifier: Apache-2.0
#include "reports/data/digest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "reports/data/environment.hpp"
#include "reports/data/html.hpp"

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

void remember(std::vector<std::string>& seen, const std::string& value) {
  if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
}

std::vector<std::string> ordered(const std::vector<const KeyTally*>& keys, std::string KeyInfo::*field,
                                 const std::vector<std::string>& first) {
  std::vector<std::string> seen, out;
  for (const KeyTally* k : keys) remember(seen, k->info.*field);
  for (const std::string& f : first)
    if (std::find(seen.begin(), seen.end(), f) != seen.end()) out.push_back(f);
  for (const std::string& s : seen) remember(out, s);
  return out;
}

}  // namespace

Digest::Digest(const ReportData& about, Stream) : about_(&about) {
  describe_ = [](const Record& r) {
    KeyInfo k;
    k.key = r.key, k.variant = r.variant, k.dtype = r.dtype, k.backend = r.backend, k.op = r.op;
    return k;
  };
  for (const KeyInfo& k : about.keys) {
    index_.emplace(k.key, keys_.size());
    keys_.emplace_back().info = k;
  }
}

Digest Digest::of_stream(const ReportData& about, std::function<KeyInfo(const Record&)> describe) {
  Digest d(about, Stream());
  d.describe_ = std::move(describe);
  return d;
}

Digest::Digest(const ReportData& data, Depth depth) : Digest(data, Stream()) {
  depth_ = depth;
  for (const Record& r : data.records) take(r);
  finish();
}

std::size_t Digest::place_of(const Record& r) {
  // The records of a key mostly follow each other.
  if (last_ < keys_.size() && keys_[last_].info.key == r.key) return last_;
  const auto [at, fresh] = index_.try_emplace(r.key, keys_.size());
  if (fresh) keys_.emplace_back().info = describe_(r);
  return at->second;
}

void Digest::take(const Record& r) {
  const std::size_t at = place_of(r);
  if (at != last_) {
    // What failing cases share is sought when the key's records are complete. If more of them come later,
    // finish() finds them.
    if (const auto before = grouped_.find(last_);
        before != grouped_.end() && keys_[last_].conformance.groups.empty()) {
      keys_[last_].conformance = conformance_of(before->second);
      grouped_.erase(before);
    }
    last_ = at;
  }
  keys_[at].take(r);
  if (r.group.empty()) return;
  check_ = true;
  if (depth_ == Depth::all) grouped_[at].push_back(r);
}

void Digest::finish() {
  for (const auto& [at, records] : grouped_) {
    KeyConformance more = conformance_of(records);
    KeyConformance& so_far = keys_[at].conformance;
    if (so_far.groups.empty()) {
      so_far = std::move(more);
      continue;
    }
    // The key's records came in several parts, such as those of shards.
    const auto append = [](auto& to, auto& from) {
      to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(so_far.groups, more.groups);
    append(so_far.findings, more.findings);
    append(so_far.failing, more.failing);
    so_far.failing_cases += more.failing_cases;
  }
  grouped_.clear();
}

namespace {

std::vector<const KeyTally*> keys_of(const Digest& d) {
  std::vector<const KeyTally*> out;
  for (const KeyTally& k : d.keys()) out.push_back(&k);
  return out;
}

Counts count(const std::vector<const KeyTally*>& keys) {
  Counts c;
  for (const KeyTally* k : keys) {
    c.add(k->status);
    c.not_run_keys += !k->info.not_run.empty();
  }
  c.planned = c.total(), c.executed = c.StatusCounts::executed();
  return c;
}

Counts count(const Digest& d) {
  Counts c = count(keys_of(d));
  c.planned = d.about().planned, c.executed = d.about().executed;
  return c;
}

std::vector<Cause> causes(const std::vector<const KeyTally*>& keys) {
  std::vector<Cause> out;
  for (const KeyTally* k : keys) out.insert(out.end(), k->causes.begin(), k->causes.end());
  std::stable_sort(out.begin(), out.end(), [](const Cause& a, const Cause& b) {
    return std::make_pair(severity(a.status), -a.count) < std::make_pair(severity(b.status), -b.count);
  });
  return out;
}

std::vector<Reason> unsupported_reasons(const Digest& d) {
  std::vector<Reason> out;
  for (const KeyTally& k : d.keys())
    for (const Reason& r : k.unsupported) add_reason(out, r);
  return out;
}

std::vector<Reason> not_run_reasons(const Digest& d) {
  std::vector<Reason> out;
  for (const KeyTally& k : d.keys())
    if (const std::string& why = k.info.not_run; !why.empty())
      add_reason(out, {Why::none, why.substr(0, why.find(':')), why, 1});
  return out;
}

std::string resolution_line(const std::vector<const KeyTally*>& keys) {
  PassResolution passes;
  for (const KeyTally* k : keys) passes.take(k->passes);
  return passes.line();
}

/// True if launches came back, and no output was judged: KeyTally::only_came_back() of every key.
bool only_launched(const Digest& d) {
  std::int64_t passed = 0;
  for (const KeyTally& k : d.keys()) {
    if (!k.only_came_back()) return false;
    passed += k.passed();
  }
  return passed > 0;
}

/// "KEY did not run in one part (FOLDER: no GPU)", of a key that ran in another part; "" if there is none.
std::string half_run(const Digest& d) {
  for (const KeyTally& k : d.keys())
    if (!k.info.not_run.empty() && k.ran() && k.status[Status::not_run] > 0)
      return fmt::format("{} did not run in one part ({})", k.info.key, k.info.not_run);
  return {};
}

/// "KEY: V = 3 is none of V_in": the first thing of what --require asks for that a kernel's limits leave out;
/// "" if there is none.
std::string uncovered(const Digest& d) {
  for (const auto& [key, contract] : d.about().contracts)
    if (!contract.uncovered.empty()) return key + ": " + contract.uncovered.front();
  return {};
}

/// True if most cases of a key were too coarse to be judged, or beyond its limits: KeyTally::barely_judged().
bool judged_in_part(const Digest& d) {
  return std::any_of(d.keys().begin(), d.keys().end(), [&](const KeyTally& k) {
    // The limits of a key of this project are its own; those of another kernel are what is asked.
    return k.barely_judged() ||
           (k.bad() == 0 && d.about().contracts.contains(k.info.key) && k.judged.little_of_core());
  });
}

}  // namespace

bool report_passed(const Digest& d) {
  const Counts c = count(d);
  return c[Status::pass] > 0 && c.executed >= c.planned && c.bad() == 0;
}

Verdict verdict_of(const Digest& d) {
  const Counts c = count(d);
  if (c.wrong() > 0) return Verdict::fail;
  if (c[Status::inconclusive] > 0) return Verdict::inconclusive;
  const bool part = !d.about().part.empty();
  if (c.executed < c.planned) {
    if (!d.is_check() || c[Status::not_run] == 0) return Verdict::fail;
    return c.executed == 0 ? Verdict::not_run : Verdict::incomplete;
  }
  if (c.executed == 0 && c.not_run_keys > 0) return Verdict::not_run;
  if (!half_run(d).empty()) return Verdict::incomplete;
  // There may be more parts than cases: merge asks whether anything was judged.
  if (c[Status::pass] == 0) return part || c[Status::unsupported] > 0 ? Verdict::not_judged : Verdict::fail;
  if (only_launched(d)) return Verdict::not_judged;
  if (!uncovered(d).empty()) return Verdict::not_covered;
  return d.is_check() && judged_in_part(d) ? Verdict::judged_in_part : Verdict::pass;
}

std::string verdict_reason(const Digest& d) {
  const Counts c = count(d);
  if (c.executed == 0) return "no case was executed, so nothing was shown";
  std::vector<std::string> parts;
  const auto part = [&](std::int64_t n, const char* what) {
    if (n > 0) parts.push_back(fmt::format("{} {}", grouped(n), what));
  };
  part(c[Status::crashed], "crashed");
  part(c[Status::hung], "hung");
  part(c[Status::fail], "failed a check");
  part(c[Status::inconclusive], "stayed undecided");
  if (const std::int64_t lost = c.planned - c.executed; lost > 0) {
    if (parts.empty())
      return fmt::format("{} of {} planned cases did not run", grouped(lost), grouped(c.planned));
    // Why they did not run comes first: after a few hangs or crashes the rest is left.
    return fmt::format("of {} planned cases {}, and {} did not run", grouped(c.planned),
                       fmt::join(parts, ", "), grouped(lost));
  }
  if (const std::string what = half_run(d); parts.empty() && !what.empty())
    return what + ", so cases of it are lacking";
  if (parts.empty() && c[Status::pass] == 0)
    return "no case could be judged: all lie outside a domain, are not expressible, or are too coarse to "
           "judge";
  if (parts.empty() && only_launched(d)) {
    std::int64_t coarse = 0;
    for (const KeyTally& k : d.keys()) coarse += k.coarse;
    return "launches came back, and no output was judged" +
           (coarse > 0 ? fmt::format(": {} too coarse to judge",
                                     coarse == 1 ? "1 case is" : grouped(coarse) + " cases are")
                       : "");
  }
  if (const std::string why = uncovered(d); parts.empty() && !why.empty())
    return "it does not take all that is required: " + why;
  for (const KeyTally& k : d.keys())
    if (parts.empty() && d.about().contracts.contains(k.info.key) && k.judged.little_of_core())
      return fmt::format(
          "{} of {} cases that every caller relies on are beyond the kernel's limits; {} passed",
          grouped(k.judged.core_beyond), grouped(k.judged.core), grouped(c[Status::pass]));
  if (parts.empty() && c[Status::unsupported] > 0) {
    std::int64_t others = 0;
    for (const Reason& r : unsupported_reasons(d))
      if (r.why == Why::coarse)
        part(r.count, "too coarse to judge");
      else if (r.why == Why::domain)
        part(r.count, "outside a declared domain");
      else
        others += r.count;
    part(others, "for other reasons");
    return fmt::format(
        "{} passed; {} not judged ({})",
        c[Status::pass] == 1 ? "the only judged case" : "all " + grouped(c[Status::pass]) + " judged cases",
        c[Status::unsupported] == 1 ? "1 was" : grouped(c[Status::unsupported]) + " were",
        fmt::join(parts, ", "));
  }
  if (parts.empty()) return "all planned cases ran and passed";
  return fmt::format("of {} planned cases {}", grouped(c.planned), fmt::join(parts, ", "));
}

const KeyTally* RunSummary::find_key(const std::string& variant, const std::string& dtype,
                                     const std::string& backend) const {
  for (const KeyTally* k : keys)
    if (k->info.variant == variant && k->info.dtype == dtype && k->info.backend == backend) return k;
  return nullptr;
}

RunSummary summary_of(const Digest& d, std::vector<const KeyTally*> keys) {
  std::vector<std::string> names;
  for (const Dtype t : kDtypes) names.emplace_back(name(t));
  RunSummary f{.data = d.about(),
               .check = d.is_check(),
               .keys = keys,
               .backends = ordered(keys, &KeyInfo::backend, {"cuda", "host", "host_fma", "plugin"}),
               .dtypes = ordered(keys, &KeyInfo::dtype, names),
               .variants = ordered(keys, &KeyInfo::variant, {}),
               .counts = count(keys),
               .causes = causes(keys),
               .unsupported = {},
               .not_run = {},
               .resolution = resolution_line(keys),
               .verdict = verdict_of(d)};
  return f;
}

RunSummary summary_of(const Digest& d) {
  RunSummary f = summary_of(d, keys_of(d));
  f.counts = count(d);
  f.unsupported = unsupported_reasons(d);
  f.not_run = not_run_reasons(d);
  f.reason = verdict_reason(d);
  f.unsandboxed = not_sandboxed(d.about().environment);
  return f;
}

}  // namespace assay
