// SPDX-License-Identifier: Apache-2.0
// What the searches of one `assay fuzz` come to: the exit status, and the verdict for people and for
// programs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "reference/text.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/fuzz/fuzz_target.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/say.hpp"
#include "reports/data/summary.hpp"
#include "reports/terminal/verdict_document.hpp"

namespace assay {

class FuzzVerdict {
 public:
  /// A candidate that was not searched, and why. `absent`: "not run".
  void skip(const std::string& key, const std::string& absent, const std::string& why);
  void take(const std::string& key, const FuzzOutcome& outcome);
  /// What other processes found and wrote: the lines of a records.jsonl.
  void take_records(const std::string& lines);
  /// The end of another process that searched.
  void take_status(int status);
  /// Most inputs of a candidate were too coarse to judge in another process.
  void take_in_part(bool in_part) { in_part_ = in_part_ || in_part; }
  bool in_part() const { return in_part_; }

  int status() const;
  /// "FAIL: 2 ways to fail; the first: assay replay ...", without a line break. `part`: "part 0 of 2", if
  /// this is one part of a run.
  std::string words(const std::string& part = "") const {
    return verdict() + (part.empty() ? "" : " (" + part + ")") + ": " + reason();
  }
  VerdictDocument document() const;

 private:
  std::string verdict() const;
  std::string reason() const;

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::int64_t candidates_ = 0, absent_ = 0, judged_ = 0, found_ = 0;
  std::int64_t evaluations_ = 0, passed_ = 0, coarse_ = 0;
  bool in_part_ = false;  // most inputs of a candidate were too coarse to judge
  std::int64_t processes_ = 0, processes_passed_ = 0;
  int worst_process_ = 0;
  std::string first_;
  std::vector<VerdictCase> cases_;
};

inline void FuzzVerdict::skip(const std::string& key, const std::string& absent, const std::string& why) {
  ++candidates_, ++absent_;
  tell("{}: {}: {}\n", key, absent, why);
  cases_.push_back(
      {.suite = key, .name = "search", .outcome = Status::not_run, .message = absent + ": " + why});
}

inline void FuzzVerdict::take(const std::string& key, const FuzzOutcome& o) {
  ++candidates_;
  judged_ += o.judged;
  evaluations_ += o.evaluations;
  passed_ += o.passed;
  coarse_ += o.coarse;
  in_part_ = in_part_ || o.coarse > o.passed;
  take_records(o.records);
  if (o.found > 0) return;
  VerdictCase one{.suite = key, .name = "search", .records = o.evaluations};
  if (!o.judged) {
    one.outcome = Status::inconclusive;
    one.bad = 1;
    one.message = "nothing was judged" + (o.reason.empty() ? "" : ": " + o.reason);
  }
  cases_.push_back(std::move(one));
}

inline void FuzzVerdict::take_records(const std::string& lines) {
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    const Record r = record_from_json(parse_json_line(line));
    const CheckResult* const check = first_failed(r);
    ++found_;
    if (first_.empty()) first_ = r.reproduce;
    cases_.push_back(
        {.suite = r.key,
         .name = fmt::format("finding {}: {}", found_, check ? name(check->check) : name(r.status)),
         .outcome = Status::fail,
         .bad = 1,
         .message = check && !check->detail.empty() ? check->detail : r.reason,
         .reproduce = r.reproduce});
  }
}

inline void FuzzVerdict::take_status(int status) {
  ++processes_;
  processes_passed_ += status == kPassed;
  worst_process_ = std::max(worst_process_, status);
}

inline int FuzzVerdict::status() const {
  if (found_ > 0) return kFailed;
  if (processes_ > 0) return worst_process_;
  if (candidates_ == 0) return kPassed;  // only files were merged
  if (judged_ > 0 && judged_ == candidates_ - absent_) return kPassed;
  return absent_ == candidates_ ? kEnvironment : kFailed;
}

inline std::string FuzzVerdict::verdict() const {
  const int s = status();
  return name(s == kPassed && in_part_ ? Verdict::judged_in_part
              : s == kPassed           ? Verdict::pass
              : s == kEnvironment      ? Verdict::not_run
                                       : Verdict::fail);
}

inline std::string FuzzVerdict::reason() const {
  if (processes_ > 0)
    return fmt::format("{} of {} processes found nothing{}{}", processes_passed_, processes_,
                       found_ > 0 ? fmt::format(", {} ways to fail; the first: {}", found_, first_) : "",
                       in_part_ ? "; most inputs of a candidate were too coarse to judge" : "");
  if (found_ > 0) return fmt::format("{} ways to fail; the first: {}", found_, first_);
  if (candidates_ == 0) return "nothing was found";
  if (status() == kEnvironment) return "no candidate can run here";
  if (status() == kFailed)
    return fmt::format("no case of {} candidates was judged", candidates_ - absent_ - judged_);
  return fmt::format(
      "{} candidate{} searched, nothing found{}{}", judged_, judged_ == 1 ? "" : "s",
      absent_ > 0 ? fmt::format(" ({} not run)", absent_) : "",
      coarse_ > 0 ? fmt::format("; {} of {} inputs were too coarse to judge", coarse_, evaluations_) : "");
}

inline VerdictDocument FuzzVerdict::document() const {
  VerdictDocument d;
  d.command = "fuzz";
  d.verdict = verdict();
  d.reason = reason();
  d.exit_status = status();
  d.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  d.environment = environment();
  d.counts = {{"candidates", candidates_}, {"searched", candidates_ - absent_},
              {"inputs", evaluations_},    {"passed", passed_},
              {"too_coarse", coarse_},     {"findings", found_}};
  d.cases = cases_;
  return d;
}

}  // namespace assay
