// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/contract/contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "accuracy/conformance/contract/limit_search.hpp"
#include "accuracy/conformance/run/conformance_run.hpp"
#include "kernels/declaration.hpp"

namespace assay::conformance {
namespace {

/// Each round finds one kind of limit. Failures that are left after this many rounds are not due to limits.
constexpr int kRounds = 8;

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + "; " + b;
}

/// The place of a limit in the printed list: rows, row length V, alignment, the rest.
std::ptrdiff_t order_of_limit(const std::string& limit) {
  constexpr std::string_view kFirst[] = {"rows", "row length", "alignment"};
  const auto known = std::ranges::find(kLimitWords, limit.substr(0, limit.find('=')), &LimitWord::word);
  return std::ranges::find(kFirst, known == std::end(kLimitWords) ? "" : known->axis) - std::begin(kFirst);
}

/// True for a limit that changes which sizes are launched, but no launch of a size that it allows, and
/// nothing of how that is judged.
bool limits_sizes_only(const std::string& limit) {
  constexpr std::string_view kSizes[] = {"rows", "row length", "rows x V", "k"};
  const auto known = std::ranges::find(kLimitWords, limit.substr(0, limit.find('=')), &LimitWord::word);
  return known != std::end(kLimitWords) && std::ranges::find(kSizes, known->axis) != std::end(kSizes);
}

/// True for a case that is one launch, whose record does not depend on the extent of its run. What a record
/// has as evidence came from other launches, of sizes that may be refused.
bool is_one_launch(const Record& r) {
  constexpr std::string_view kGroups[] = {"families", "shapes", "rows", "layout", "operands"};
  return std::ranges::find(kGroups, r.group) != std::end(kGroups) && r.family != kProbeFamily && r.V > 0 &&
         r.rows > 0 && r.evidence.empty();
}

Variant declared(Variant v, const std::string& words) {
  if (!words.empty()) apply_declaration(words, v);
  return v;
}

/// One search for the contract of a kernel.
class Search {
 public:
  Search(const std::function<Variant()>& make, const ConformanceOptions& options, const std::string& said,
         const std::function<std::string(const std::string&)>& target_with)
      : new_(make), options_(options), said_(said), target_with_(target_with) {}

  ContractedResult run() {
    std::unique_ptr<ConformanceRun> last = again(options_.extent);
    const Variant variant = make_();
    bool whole = true;  // `last` ran at the extent that the options ask for
    bool wrong = false;
    for (int round = 0; round < kRounds; ++round) {
      const std::vector<Record> records = last->records();
      if (std::none_of(records.begin(), records.end(), fails)) {
        if (last->holds()) {
          last->go_on(Stage::later);  // what failed had another cause
          continue;
        }
        if (whole) break;
        end(last);
        last = again(options_.extent);  // has cases that the quick extent has not
        whole = true;
        continue;
      }
      wrong = options_.fail_fast &&
              std::ranges::any_of(records, [&](const Record& r) { return certainly_wrong(variant, r); });
      if (wrong) break;
      // A launch that hangs is no refusal, and each that the search would try costs its wait.
      if (options_.hangs && options_.hangs->shown()) break;
      const std::vector<FoundLimit> more = next(records);
      wrong = more.empty() && options_.fail_fast;
      if (wrong || (more.empty() && !last->holds())) break;
      if (more.empty()) {
        last->go_on(Stage::later);  // may show limits that the first stage does not
        continue;
      }
      add(more);
      end(last, std::ranges::all_of(more, limits_sizes_only, &FoundLimit::word));
      last = again(Extent::quick);
      whole = options_.extent == Extent::quick;
    }
    // The printed contract was run as if it had been declared, at the whole extent.
    ContractedResult out;
    const bool hangs = options_.hangs && options_.hangs->shown();  // then nothing more would be launched
    if (!whole && !hangs && !wrong) {
      end(last);
      last = again(options_.extent);
    }
    if (hangs) options_.hangs->leave();
    out.result = last->explained();
    last.reset();
    out.contract = contract_of(declared(variant, found_), out.result.records, found_, outside_);
    return out;
  }

 private:
  /// Keeps the limits in one order, because a busy machine may find them in another.
  void add(const std::vector<FoundLimit>& more) {
    limits_.insert(limits_.end(), more.begin(), more.end());
    std::stable_sort(limits_.begin(), limits_.end(), [](const FoundLimit& a, const FoundLimit& b) {
      return order_of_limit(a.word) < order_of_limit(b.word);
    });
    found_.clear();
    outside_.clear();
    for (const FoundLimit& f : limits_) {
      found_ = joined(found_, f.word);
      outside_.push_back(f.outside);
    }
  }

  /// Frees the worker of a run that another follows. `keep`: its cases would show the same there.
  void end(std::unique_ptr<ConformanceRun>& run, bool keep = true) {
    if (!keep) known_.clear();
    for (Record& r : run->records())
      if (keep && is_one_launch(r) && r.status == Status::pass && r.at_first.empty())
        known_.insert_or_assign(identity(r), std::move(r));
    run.reset();
  }

  std::vector<FoundLimit> next(const std::vector<Record>& records) {
    const Variant v = declared(make_(), found_);
    // What the author declared is a promise, so it is not looked for.
    const auto may = [&](const char* word) {
      return (is_no_promise(word, v) || !says(said_, word)) && !says(found_, word);
    };
    const Pilot pilot = [&](const std::string& words, const std::vector<std::string>& groups,
                            const Narrowing& narrow) {
      return narrowed(joined(found_, words), groups, narrow);
    };
    if (auto found = next_limits(v, records, may); !found.empty()) return found;
    if (auto found = next_value_limits(v, records, may, pilot); !found.empty()) return found;
    if (auto found = next_order_class(v, records, may, pilot); !found.empty()) return found;
    if (auto found = next_exp_class(v, records, may, pilot); !found.empty()) return found;
    return next_divisor_class(v, records, may, pilot);
  }

  /// Runs the groups of the check, under the limits found so far.
  std::unique_ptr<ConformanceRun> again(Extent extent) {
    ConformanceOptions o = options_;
    o.extent = extent;
    o.hold = true;
    if (!found_.empty()) o.target = target_with_(found_);
    if (o.hangs) o.hangs->forget_crashes();
    if (o.fail_fast) {
      Variant v = make_();
      v.launcher = nullptr;  // its worker is for others
      o.enough = [v = std::move(v)](const Record& r) { return certainly_wrong(v, r); };
    }
    o.known = [this](const std::string& identity) {
      const auto at = known_.find(identity);
      return at == known_.end() ? nullptr : &at->second;
    };
    o.run_name = fmt::format("{}|{}", found_, static_cast<int>(extent));
    return std::make_unique<ConformanceRun>([&] { return declared(make_(), found_); }, o);
  }

  std::vector<Record> narrowed(const std::string& words, const std::vector<std::string>& groups,
                               const Narrowing& narrow) {
    ConformanceOptions o = options_;
    o.extent = Extent::quick;
    o.only = groups;
    o.also.clear();
    o.narrow = narrow;
    o.threads = 1;
    o.progress = {};
    o.kept = {};
    return ConformanceRun([&] { return declared(make_(), words); }, o).records();
  }

  /// A kernel whose worker is idle, or a new one. The search runs the groups many times, and a new worker
  /// process costs a second on a GPU, and several seconds in Python.
  Variant idle() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const Variant& v : made_)
        if (v.launcher.use_count() == 1) return v;
    }
    Variant v = new_();
    if (!v.launcher) return v;
    const std::lock_guard<std::mutex> lock(mutex_);
    return made_.emplace_back(std::move(v));
  }

  const std::function<Variant()>& new_;
  const std::function<Variant()> make_ = [this] { return idle(); };
  std::mutex mutex_;
  std::vector<Variant> made_;
  const ConformanceOptions& options_;
  const std::string& said_;
  const std::function<std::string(const std::string&)>& target_with_;
  std::vector<FoundLimit> limits_;       // all that were found
  std::string found_;                    // their words
  std::vector<std::string> outside_;     // what was seen outside each
  std::map<std::string, Record> known_;  // by identity: passes that the limits found since do not change
};

}  // namespace

ContractedResult run_within_contract(const std::function<Variant()>& make, const ConformanceOptions& options,
                                     const std::string& declared,
                                     const std::function<std::string(const std::string& more)>& target_with) {
  return Search(make, options, declared, target_with).run();
}

}  // namespace assay::conformance
