// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/certificate_of.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <system_error>

#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/candidate.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/text.hpp"
#include "reports/adopt/certificate_fields.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/data/files.hpp"
#include "reports/data/html.hpp"
#include "reports/records/about.hpp"
#include "reports/records/record_stream.hpp"

namespace assay {

namespace fs = std::filesystem;

template <IsA<SearchFacts> F, class Visit>
void each_field(F& f, Visit& visit) {
  visit("key", f.key);
  visit("planned", f.planned);
  visit("evaluations", f.evaluations);
  visit("passed", f.passed);
  visit("coarse", f.coarse);
  visit("found", f.found);
  visit("judged", f.judged);
  visit("largest_share", f.largest_share);
  visit("seconds", f.seconds);
  visit.if_set("branches", f.branches);
  visit.if_set("first", f.first);
}

template <IsA<UsedFacts> F, class Visit>
void each_field(F& f, Visit& visit) {
  visit("key", f.key);
  visit.if_set("why_none", f.why_none);
  visit.if_set("tested", f.tested);
  visit.if_set("named", f.named);
  visit.if_set("untested", f.untested);
}

template <IsA<AdoptionFacts> F, class Visit>
void each_field(F& f, Visit& visit) {
  fields_of_call(f, visit);
  visit("accept_limits", f.accept_limits);
  visit.if_set("imports", f.imports);
  visit("kernels", f.kernels);
  visit("open", f.open);
  visit("searched", f.searched);
  visit.if_set("not_searched", f.not_searched);
  visit("used", f.used);
  visit("timed", f.timed);
  visit.if_set("not_timed", f.not_timed);
  visit.if_set("sweep_stopped", f.sweep_stopped);
  visit("sweep_seconds", f.sweep_seconds);
}

namespace {

void add_words(std::string& all, const std::string& more) {
  if (!more.empty()) all += (all.empty() ? "" : "; ") + more;
}

/// `absent`: which kernels the step says nothing of, and why.
void finish_step(Certificate& c, CertifiedStep step, const std::string& absent) {
  if (step.state == Status::not_run)
    step.words = absent.empty() ? step.words : absent;
  else if (!absent.empty())
    c.not_proved.push_back(step.name + ": " + absent);
  c.steps.push_back(std::move(step));
}

void add_search(Certificate& c, const AdoptionFacts& facts) {
  CertifiedStep step{.name = "fuzz", .seed = facts.seed};
  std::int64_t found = 0;
  bool all_judged = true;
  for (const SearchFacts& one : facts.searched) {
    found += one.found;
    all_judged = all_judged && one.judged;
    step.planned += one.planned;
    step.executed += one.evaluations;
    step.seconds += one.seconds;
    if (step.command.empty()) step.command = one.first;
    add_words(
        step.words,
        fmt::format("{}: {} inputs, {} passed{}, largest share of a bound {:.3f}{}", one.key,
                    grouped(one.evaluations), grouped(one.passed),
                    one.coarse > 0 ? fmt::format(", {} too coarse to judge", grouped(one.coarse)) : "",
                    one.largest_share, one.found > 0 ? fmt::format(", {} ways to fail", one.found) : ""));
    add_words(step.words, one.branches);
  }
  step.state = found > 0                ? Status::fail
               : facts.searched.empty() ? Status::not_run
               : all_judged             ? Status::pass
                                        : Status::inconclusive;
  if (!all_judged) add_words(step.words, "of a kernel nothing was judged");
  finish_step(c, std::move(step), facts.not_searched);
}

/// What the check saw of the accuracy of exp and of division, and of the order of the sum.
std::string measured_in(const std::vector<Record>& checked, const std::string& key) {
  for (const Record& r : checked)
    if (r.key == key && r.family == kProbeFamily && !r.behaves_like.empty())
      return "; the check measured: " + r.behaves_like;
  return {};
}

void add_functions(Certificate& c, const AdoptionFacts& facts, const AdoptionData& data) {
  CertifiedStep step{.name = "functions"};
  std::string none;
  for (const UsedFacts& used : facts.used) {
    if (used.named)
      c.not_proved.push_back("functions: " + used.key +
                             ": those that its source names were tested; which of them run is not known");
    if (!used.untested.empty())
      c.not_proved.push_back(fmt::format("functions: {}: its source names {}, which is not tested on its own",
                                         used.key, fmt::join(used.untested, ", ")));
    if (!used.why_none.empty())
      add_words(none, used.key + ": " + used.why_none + measured_in(data.check.records, used.key));
  }
  bool failed = false;
  if (data.functions) {
    step.seconds = data.functions->seconds;
    for (const FunctionResult& f : data.functions->functions) {
      ++step.planned;
      step.executed += f.status != Status::not_run;
      failed = failed || f.status == Status::fail;
      if (f.status == Status::not_run) add_words(none, f.id() + ": " + f.reason);
      add_words(step.words,
                fmt::format("{}: {}{}{}", f.id(), name(f.status), f.reason.empty() ? "" : ": " + f.reason,
                            on_every_argument(f) ? ", every argument" : ", a sample"));
    }
  }
  step.state = failed ? Status::fail : step.executed == 0 ? Status::not_run : Status::pass;
  finish_step(c, std::move(step), none);
}

/// The configuration without a time that says most: one that failed, then one that did not run, then one that
/// is outside the kernel's limits. Empty if there is none.
std::string first_untimed(const std::vector<const SweepRecord*>& all) {
  for (const Status status : {Status::fail, Status::not_run, Status::unsupported})
    for (const SweepRecord* r : all)
      if (r->status == status && !r->reason.empty())
        return fmt::format("{}, {} rows, V = {}: {}", r->key, r->rows, r->V, r->reason);
  return {};
}

AdoptionFacts facts_from(const fs::path& file) {
  try {
    return fields_from_json<AdoptionFacts>(parse_json(read_file(file)));
  } catch (const InputError& e) {
    throw InputError(file.string() + ": " + e.what());
  } catch (const nlohmann::json::exception& e) {
    throw InputError(file.string() + ": " + plain_words(e));
  }
}

}  // namespace

void add_sweep(Certificate& c, const AdoptionFacts& facts, const std::vector<SweepRecord>& records) {
  CertifiedStep step{.name = "sweep", .seed = facts.seed, .seconds = facts.sweep_seconds};
  std::vector<const SweepRecord*> of_plan;
  for (const std::string& one : facts.timed)
    for (const SweepRecord& r : records)
      if (identity(r) == one) of_plan.push_back(&r);
  step.planned = std::ssize(facts.timed);
  std::int64_t failed = 0;
  bool wrong = false;
  for (const SweepRecord* r : of_plan) {
    step.executed += r->timed();
    if (r->status == Status::fail) {
      ++failed;
      if (step.command.empty()) step.command = r->reproduce;
      // A worker that ends while it is timed shows that something is wrong, but not with which outputs.
      wrong = wrong || r->verified == Status::fail || !r->key.ends_with(name(Backend::plugin));
    }
    if (r->median_us)
      c.speed.push_back(
          {*r, r->key, r->verified, r->median_us, r->gb_per_s, r->share_of_copy, share_of_fastest(*r)});
  }
  if (!facts.timed.empty())
    step.words = fmt::format("{} of {} configurations were timed, {} failed{}", step.executed, step.planned,
                             failed, facts.sweep_stopped.empty() ? "" : ": " + facts.sweep_stopped);
  step.state = wrong                ? Status::fail
               : failed > 0         ? Status::inconclusive
               : step.executed == 0 ? Status::not_run
                                    : Status::pass;
  if (step.state != Status::pass) add_words(step.words, first_untimed(of_plan));
  finish_step(c, std::move(step), facts.not_timed);
}

std::string render_facts(const AdoptionFacts& facts) {
  return fields_to_json(facts).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Certificate certificate_of(const AdoptionFacts& facts, const AdoptionData& data) {
  Certificate c;
  static_cast<AdoptionCall&>(c) = facts;
  c.data = data.files;
  for (const auto& [label, value] : data.check.environment) c.environment.push_back({label, value});
  if (!facts.imports.empty()) c.environment.push_back({"imports", facts.imports});
  c.steps.push_back(check_step(data.check, facts.seed));
  for (const AdoptedKernel& k : facts.kernels) c.kernels.push_back(certified_kernel(k, data.check));
  for (const Record& r : data.check.records)
    if (std::ranges::find(c.kernels, r.key, &CertifiedKernel::key) == c.kernels.end())
      throw InputError(r.key + ": it has records, and is none of the kernels that were adopted");
  c.cases = cases_to_replay(data.check.records);
  c.not_proved = open_after_check(c, data.check);
  c.not_proved.insert(c.not_proved.end(), facts.open.begin(), facts.open.end());
  if (c.steps.front().state == Status::pass) {
    add_search(c, facts);
    add_functions(c, facts, data);
    add_sweep(c, facts, data.sweep);
  } else {
    for (const char* step : {"fuzz", "functions", "sweep"})
      c.steps.push_back({.name = step, .words = "the check did not pass", .seed = facts.seed});
  }
  conclude(c, facts.accept_limits);
  return c;
}

Certificate certificate_in(const fs::path& folder, std::vector<CertifiedData> files) {
  const AdoptionFacts facts = facts_from(folder / kFactsFile);
  AdoptionData data;
  data.check = read_about(folder / "check" / kAboutFile);
  for_each_record(folder / "check" / "records.jsonl",
                  [&](const Record& r) { data.check.records.push_back(r); });
  // An earlier run may have left these.
  if (std::ranges::any_of(facts.used, [](const UsedFacts& u) { return !u.tested.empty(); }))
    data.functions = read_functions(folder / "functions" / "functions.json");
  if (!facts.timed.empty()) data.sweep = read_facts<SweepRecord>(folder / "sweep" / "sweep.jsonl");
  data.files = std::move(files);
  return certificate_of(facts, data);
}

std::vector<CertifiedData> data_in(const fs::path& folder) {
  std::vector<CertifiedData> all;
  std::error_code none;
  const auto add = [&](const fs::path& file) {
    if (fs::is_regular_file(file, none))
      all.push_back({file.lexically_relative(folder).generic_string(), sha256_of_file(file)});
  };
  add(folder / kFactsFile);
  // What is not read has no hash, so no certificate lists it like that.
  const auto add_unread = [&](const fs::path& path) {
    all.push_back({path.lexically_relative(folder).generic_string(), ""});
  };
  for (const char* step : {"check", "fuzz", "functions", "sweep"}) {
    std::error_code error;
    if (!fs::exists(folder / step, none)) continue;
    for (fs::recursive_directory_iterator it(folder / step, error), end; !error && it != end;
         it.increment(error)) {
      std::error_code no_link;
      if (it->is_symlink(no_link) && it->is_directory(no_link))
        add_unread(it->path());
      else
        add(it->path());
    }
    if (error) add_unread(folder / step);
  }
  std::ranges::sort(all, {}, &CertifiedData::path);
  return all;
}

}  // namespace assay
