// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/check/run_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "accuracy/case/job.hpp"
#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/conformance/contract/region.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/reproduce.hpp"
#include "accuracy/status.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/candidate.hpp"
#include "kernels/declaration.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/cli/progress.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/say.hpp"
#include "reports/data/summary.hpp"
#include "reports/data/tally.hpp"
#include "reports/runs/report.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

/// Removes the sign in "got -nan": it has no meaning and differs between machines.
void drop_sign_of_nan(std::string& text) {
  const auto letter = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
  };
  for (std::size_t i = text.find("-nan"); i != text.npos; i = text.find("-nan", i + 1))
    if (!letter(i - 1) && !letter(i + 4)) text.erase(i, 1);
}

/// Single cases give no contract, and a kernel of this project has declared its limits.
bool shows_contract(const Target& t, const conformance::ConformanceOptions& o) {
  const conformance::Narrowing& n = o.narrow;
  return t.variant.backend == Backend::plugin && o.only.empty() && o.logits.empty() && n.family.empty() &&
         n.setup.empty() && !n.V && !n.rows && !n.pitch && !n.pick.any() && (!n.op || *n.op == t.variant.op);
}

/// Types of logits that are required and that no kernel takes.
std::vector<std::string> missing_types(const std::vector<Target>& targets, const std::string& required) {
  std::vector<std::string> missing;
  for (const Dtype type : conformance::region_of(required).types)
    if (std::ranges::none_of(targets, [&](const Target& t) { return t.variant.dtype == type; }))
      missing.push_back(std::string("no kernel of it takes ") + name(type) + " logits");
  return missing;
}

/// Throws Contradiction if the lengths that were judged do not fit the limits that are printed: the kernel
/// has told the processes that judged it something else than this one. Where cases fail there is no contract.
void require_reach(const Variant& v, const conformance::ConformanceResult& result) {
  JudgedCounts judged;
  for (const Record& r : result.records) {
    if (r.status != Status::pass && r.status != Status::unsupported) return;
    judged.take(r);
  }
  if (judged.lengths.empty()) return;  // no verdict either
  if (const std::string why = judged.misfit(v.limits); !why.empty())
    throw Contradiction(v.key() + ": " + why);
}

}  // namespace

Record record_of_death(const Target& t) {
  Record r = blank_record(t.variant, "load", t.variant.op, {}, 0);
  r.group = "load";
  r.status = t.died->ended == Ended::hung ? Status::hung : Status::crashed;
  r.reason = t.died->what();
  r.reproduce = reproduce({"check " + t.words});
  return r;
}

std::vector<conformance::Group> groups_of_programs() {
  return {properties_group(), races_group(), sanitize_group()};
}

Asked settle_options(JudgeOptions& o) {
  const Asked asked = {o.targets.source.declare, choose_machine_and_region(o.require, o.device),
                       !o.targets.source.entry.empty()};
  if (o.quick && o.full) throw InputError("--quick and --full: give only one of them");
  if (!o.op.empty()) {
    o.run.narrow.op = parse_op(o.op);
    o.targets.source.op = o.op;
    if (!o.run.narrow.op) throw InputError("--op " + o.op + ": unknown operation");
  }
  o.run.extent = o.quick  ? conformance::Extent::quick
                 : o.full ? conformance::Extent::full
                          : conformance::Extent::normal;
  o.run.more = groups_of_programs();
  o.run.patience = std::min(1.0, o.targets.timeout_seconds / TargetOptions().timeout_seconds);
  return asked;
}

std::vector<Target> distinct_targets(const JudgeOptions& o, const std::string& one_at_a_time) {
  std::vector<Target> targets = resolve_targets(o.targets, true);
  // The key identifies a record's kernel.
  std::set<std::string> keys;
  for (const Target& t : targets)
    if (!keys.insert(t.variant.key()).second)
      throw InputError("two targets are called " + t.variant.key() + ": " + one_at_a_time +
                       " one at a time, or use --name");
  return targets;
}

void settle_seed(JudgeOptions& o, const std::filesystem::path& out) {
  settle(o.seed, out, o.frame.resume);
  o.run.seed = o.seed.value;
  seed_properties(o.run.seed);
}

std::string contracts_of(const ReportData& data) {
  nlohmann::json all = nlohmann::json::object();
  for (const auto& [key, contract] : data.contracts) {
    nlohmann::json axes = nlohmann::json::array();
    for (const conformance::Axis& a : contract.axes)
      axes.push_back(
          {{"axis", a.name}, {"state", name(a.state)}, {"within", a.within}, {"outside", a.outside}});
    all[key] = {{"within", contract.within()},
                {"declare", contract.found},
                {"outside", contract.outside},
                {"axes", std::move(axes)}};
    if (!contract.required.empty()) {
      all[key]["required"] = contract.required;
      all[key]["uncovered"] = contract.uncovered;
    }
    if (!contract.own.empty()) all[key]["own"] = contract.own;
  }
  return all.dump(2) + "\n";
}

ReportData run_check(const std::vector<Target>& targets, const conformance::ConformanceOptions& run,
                     bool quick, const Asked& asked) {
  const auto begin = std::chrono::steady_clock::now();
  ReportData data;
  data.quick = quick;
  data.environment = environment();
  data.environment.push_back(sandbox_of_workers());
  for (const Family& f : all_families()) data.families.push_back({f.name, f.why});
  data.families.push_back({kProbeFamily, kProbeWhy});
  for (const Target& t : targets) {
    data.keys.push_back(key_info(t.variant));
    if (t.died) {
      data.records.push_back(record_of_death(t));
      ++data.planned, ++data.executed;
      continue;
    }
    conformance::ConformanceOptions options = run;
    options.target = t.words;
    options.hangs = std::make_shared<conformance::Hangs>();
    options.tell = [](const std::string& words) { say("{}\n", words); };
    if (const std::optional<OneFile> file = source_of(t.variant))
      for (const std::string& words : said_left_out(*file)) say("assay: {}\n", words);
    Progress progress;
    options.progress = [&progress](std::int64_t done, std::int64_t planned) { progress(done, planned); };
    conformance::ConformanceResult result;
    if (shows_contract(t, options)) {
      begin_races(t.variant, t.words, options.seed);
      // The declarations of the kernel and of the command are promises, so no limits are searched for them.
      conformance::ContractedResult within =
          run_within_contract(t.make, options, declaration_of(t.variant), [&](const std::string& more) {
            const std::string words = t.words + " --declare " + shell_quoted(more);
            begin_races(t.variant, words, options.seed);
            return words;
          });
      end_races();
      result = std::move(within.result);
      for (std::string& text : within.contract.outside) drop_sign_of_nan(text);
      const Variant limited = with_declared(t, within.contract.found).variant;
      add_coverage(within.contract, limited, asked.declared, asked.required);
      if (is_python_callable(t.file) || (asked.entry && is_source_file(t.file))) within.contract.own.clear();
      require_reach(limited, result);
      data.contracts[t.variant.key()] = std::move(within.contract);
    } else {
      result = conformance::run_conformance(t.make, options);
      // A key has declared its limits here; whether they are enough is asked nevertheless.
      if (!asked.required.empty()) {
        conformance::Contract contract = conformance::contract_of(t.variant, result.records, "", {});
        add_coverage(contract, t.variant, asked.declared, asked.required);
        contract.own.clear();
        data.contracts[t.variant.key()] = std::move(contract);
      }
    }
    data.planned += result.planned;
    data.executed += result.executed;
    for (Record& r : result.records) {
      for (std::string* const text : {&r.reason, &r.returned}) drop_sign_of_nan(*text);
      for (std::string& text : r.evidence) drop_sign_of_nan(text);
      for (CheckResult& c : r.checks) drop_sign_of_nan(c.detail);
    }
    data.records.insert(data.records.end(), std::make_move_iterator(result.records.begin()),
                        std::make_move_iterator(result.records.end()));
  }
  for (const std::string& missing : missing_types(targets, asked.required))
    if (!data.contracts.empty()) data.contracts.begin()->second.uncovered.push_back(missing);
  std::set<std::string> outside;
  for (const Record& r : data.records)
    if (r.where == Where::not_sandboxed) outside.insert(r.group);
  say_not_sandboxed(data.environment, outside);
  data.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return data;
}

int status_of_check(const ReportData& data, bool accept_limits) {
  switch (verdict_of(data)) {
    case Verdict::pass: {
      const bool limited = std::any_of(data.contracts.begin(), data.contracts.end(),
                                       [](const auto& one) { return one.second.limited(); });
      return limited && !accept_limits ? kUndeclaredLimits : kPassed;
    }
    case Verdict::judged_in_part:
      return accept_limits ? kPassed : kUndeclaredLimits;
    case Verdict::fail:
    case Verdict::inconclusive:
    case Verdict::not_covered:
      return kFailed;
    case Verdict::incomplete:
    case Verdict::not_run:
    case Verdict::not_judged:
      break;
  }
  return kEnvironment;
}

std::unique_ptr<DeviceLock> lock_device(const std::vector<Target>& targets) {
  const bool device = std::any_of(targets.begin(), targets.end(), [](const Target& t) {
    return on_device(t.variant) && cannot_launch(t.variant).empty();
  });
  if (!device) return {};
  return std::make_unique<DeviceLock>(device_identity(), [] {
    say("assay: another check is running on this GPU: waiting for its end (--shared: do not wait)\n");
  });
}

}  // namespace assay
