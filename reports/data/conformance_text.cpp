// SPDX-License-Identifier: Apache-2.0
#include "reports/data/conformance_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/fault_kind.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/data/tally.hpp"

namespace assay {
namespace {

constexpr std::size_t kMostFindings = 12;

std::string counts_of(const std::vector<Record>& records) {
  const auto coarse = std::count_if(records.begin(), records.end(), too_coarse);
  const StatusCounts all = count_outcomes(records);
  std::string s =
      fmt::format("{} cases: {} passed, {} failed, {} inconclusive, {} outside the domain or not expressible",
                  grouped(all.total()), grouped(all[Status::pass]), grouped(all[Status::fail]),
                  grouped(all[Status::inconclusive]), grouped(all[Status::unsupported] - coarse));
  if (coarse > 0) s += fmt::format(", {} too coarse to judge", grouped(coarse));
  if (all[Status::crashed]) s += fmt::format(", {} crashed", grouped(all[Status::crashed]));
  if (all[Status::hung]) s += fmt::format(", {} hung", grouped(all[Status::hung]));
  if (all[Status::not_run]) s += fmt::format(", {} not run", grouped(all[Status::not_run]));
  return s + "\n";
}

/// What the kernel behaves like. Of one that is wrong nearly everywhere, that tells nothing.
std::string behaviour_lines(const std::vector<Record>& records) {
  const StatusCounts n = count_outcomes(records);
  if (n.wrong() > n[Status::pass]) return {};
  std::string out;
  for (const Record& r : records)
    if (r.family == kProbeFamily && !r.behaves_like.empty()) out += "behaves like: " + r.behaves_like + "\n";
  return out;
}

std::string group_lines(const std::vector<Record>& records) {
  std::string out;
  for (const GroupTally& g : tally_groups(records)) {
    std::string line = fmt::format("  {:<12} {:>7} passed", g.group, grouped(g[Status::pass]));
    const auto some = [&](std::int64_t n, const char* word) {
      if (n > 0) line += fmt::format(", {} {}", grouped(n), word);
    };
    some(g[Status::fail], "failed");
    some(g[Status::crashed], "crashed");
    some(g[Status::hung], "hung");
    some(g[Status::inconclusive], "inconclusive");
    some(g[Status::not_run], "not run");
    some(g[Status::unsupported], "unsupported");
    if (g[Status::unsupported] > 0) line += " (" + shorten(g.unsupported_reason, 90) + ")";
    out += line + "\n";
  }
  return out;
}

/// The records of one key, as if they were a run of their own.
ReportData run_of(const std::vector<Record>& records) {
  ReportData one;
  one.records = records;
  const StatusCounts all = count_outcomes(records);
  one.planned = all.total(), one.executed = all.executed();
  return one;
}

/// Cases lost for reasons outside the kernel. They are reported beside the verdict and do not change it.
std::string wanting(const std::vector<Record>& records) {
  std::string out;
  for (const FaultKind what : {FaultKind::memory, FaultKind::time}) {
    const auto is = [&](const Record& r) { return r.status == Status::unsupported && r.wants == what; };
    const auto first = std::find_if(records.begin(), records.end(), is);
    if (first == records.end()) continue;
    out += fmt::format("not judged for lack of {}: {} ({}, V = {}, {} rows; {})\n", name(what),
                       grouped(std::count_if(records.begin(), records.end(), is)), first->group, first->V,
                       first->rows, shorten(first->reason, 120));
  }
  if (const auto first = std::find_if(records.begin(), records.end(), passed_only_again);
      first != records.end())
    out += fmt::format(
        "passed only when tried again, in a fresh worker: {} ({}, V = {}, {} rows; at first: {})\n",
        grouped(std::count_if(records.begin(), records.end(), passed_only_again)), first->group, first->V,
        first->rows, shorten(first->at_first, 160));
  return out;
}

std::string rows_line_of(const std::vector<Record>& records) {
  JudgedCounts judged;
  for (const Record& r : records) judged.take(r);
  const std::string line = rows_line(judged.rows);
  return line.empty() ? line : line + "\n";
}

/// What the adopter asked for, and what of it the kernel does not take.
std::string asked_of(const conformance::Contract* contract) {
  if (!contract || contract->required.empty()) return {};
  std::string out = fmt::format("  required: {}\n", contract->required);
  for (const std::string& why : contract->uncovered) out += fmt::format("  not covered: {}\n", why);
  return out;
}

/// The verdict, and the limits within which it holds.
std::string head_of(Verdict verdict, const std::string& key, const conformance::Contract* contract,
                    const std::string& quick) {
  const bool found = contract && !contract->found.empty();
  const bool right =
      verdict == Verdict::pass || verdict == Verdict::judged_in_part || verdict == Verdict::not_covered;
  const std::string asked = asked_of(contract);
  if (!right || !contract || !contract->limited()) {
    std::string out = fmt::format("{} {}{}\n", name(verdict), key, quick) + asked;
    if (!contract) return out;
    if (right) out += "  within: " + contract->within() + "\n";
    if (found)
      out += fmt::format("  tried within: {} (nobody declared these limits; the findings are inside them)\n",
                         contract->within());
    if (!contract->outside.empty()) out += fmt::format("  outside: {}\n", fmt::join(contract->outside, "; "));
    return out;
  }
  std::string out = fmt::format("{} within: {}\n", name(verdict), contract->within()) + asked;
  if (!contract->outside.empty()) out += fmt::format("  outside: {}\n", fmt::join(contract->outside, "; "));
  if (!contract->own.empty())
    out += fmt::format("  declared by the kernel's own file alone: {}\n", contract->own);
  return out + fmt::format("  adopt with: --declare '{}'\n  {}{}\n", contract->to_declare(), key, quick);
}

std::string verdict_text(const std::string& key, const std::vector<Record>& records, bool quick,
                         const std::string& unsandboxed, const conformance::Contract* contract) {
  ReportData one = run_of(records);
  if (contract) one.contracts[key] = *contract;
  const Digest digest(one);
  const Verdict verdict = verdict_of(digest);
  const bool pass = verdict == Verdict::pass || verdict == Verdict::judged_in_part;
  std::string out =
      head_of(verdict, key, contract, pass && quick ? "; quick: " + lengths_tried(records) : "");
  if (verdict == Verdict::not_judged || verdict == Verdict::judged_in_part)
    out += "  " + verdict_reason(digest) + "\n";
  if (!unsandboxed.empty()) out += "  not sandboxed: " + unsandboxed + "\n";
  out += counts_of(records) + wanting(records);
  if (const std::string line = resolution_line(records); pass && !line.empty()) out += line + "\n";
  if (pass) out += rows_line_of(records);
  const auto findings = conformance::diagnose(records);
  for (std::size_t i = 0; i < findings.size() && i < kMostFindings; ++i) {
    const conformance::Finding& f = findings[i];
    out += fmt::format("{}. {}\n", i + 1, finding_line(f));
    out += fmt::format("   {}\n", shorten(f.detail, 300));
    if (f.first->nearest == Nearest::beyond_measured) out += fmt::format("   {}\n", f.first->behaves_like);
    if (offers_class(f))
      out += fmt::format("   the nearest class for this case: {}\n", f.first->behaves_like);
    if (!f.declares.empty())
      out += fmt::format(
          "   longer rows should be refused with an error; only if there never are any, say so, and it is "
          "judged "
          "within that: --declare '{}'\n",
          f.declares);
    if (f.passes_alone) out += fmt::format("   {}\n", kSeenInCalls);
    out += fmt::format("   {}\n", f.first->reproduce);
  }
  if (findings.size() > kMostFindings)
    out += fmt::format("{} more on the page\n", findings.size() - kMostFindings);
  for (const Record& r : records)
    if (r.status == Status::not_run) {
      out += "not run: " + shorten(r.reason, 200) + "\n";
      break;
    }
  return out + behaviour_lines(records) + group_lines(records);
}

}  // namespace

bool passed_only_again(const Record& r) { return !r.at_first.empty() && r.status == Status::pass; }

bool offers_class(const conformance::Finding& f) {
  return f.status == Status::fail && f.may_be_arithmetic && f.first->nearest == Nearest::other_class &&
         f.first->family != kProbeFamily;
}

std::string finding_line(const conformance::Finding& f) {
  const char* word = f.status == Status::crashed        ? "crash"
                     : f.status == Status::hung         ? "hang"
                     : f.status == Status::inconclusive ? "are inconclusive"
                                                        : "fail";
  std::string s =
      fmt::format("{}: {} of {} cases {} ({})", f.group, grouped(f.failed), grouped(f.of), word, f.checks);
  const bool cause_first = f.vague && !f.likely.empty();
  if (cause_first) s += ": likely " + f.likely;
  if (!f.where.empty()) s += (cause_first ? "; " : ": ") + f.where;
  if (!f.also.empty()) s += fmt::format("; with {}", fmt::join(f.also, ", "));
  if (!cause_first && !f.likely.empty()) s += ": likely " + f.likely;
  return s;
}

std::string render_check_terminal(const ReportData& data, const std::string& page_path) {
  std::string out;
  for (const KeyInfo& k : data.keys) {
    std::vector<Record> its;
    for (const Record& r : data.records)
      if (r.key == k.key) its.push_back(r);
    const auto contract = data.contracts.find(k.key);
    out += verdict_text(k.key, its, data.quick, not_sandboxed(data.environment),
                        contract == data.contracts.end() ? nullptr : &contract->second);
  }
  // A part of a check says so, although each of its kernels was judged in whole.
  if (data.keys.size() > 1 || !data.part.empty()) {
    const Digest digest(data);
    const RunSummary whole = summary_of(digest);
    out += fmt::format("{}: {}\n", verdict_words(whole), whole.reason);
  }
  return out + fmt::format("took {} s; page: {}\n", plain_number(data.seconds), page_path);
}

}  // namespace assay
