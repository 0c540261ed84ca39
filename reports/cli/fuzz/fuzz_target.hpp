// SPDX-License-Identifier: Apache-2.0
// The search of `assay fuzz` on one kernel: `assay adopt` runs it too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "reference/fields.hpp"
#include "reports/cli/fuzz/fuzz_options.hpp"
#include "reports/out/journal.hpp"

namespace assay {

/// Reads "30s", "5m", "1h", "500ms", or a number of seconds. Throws InputError that names the option.
double seconds_of(const std::string& text, const std::string& option = "--time");

/// The outcome of one kernel's campaign.
struct FuzzOutcome {
  bool judged = false;
  std::size_t found = 0;
  std::string first = {};    // the command that repeats the first finding
  std::string records = {};  // lines of records.jsonl
  std::int64_t evaluations = 0, passed = 0, elements = 0;
  std::int64_t coarse = 0;  // inputs that were not judged: the claimed arithmetic lets nearly any output pass
  double largest_share = 0;  // error / bound
  std::string largest_check = {};
  double seconds = 0;
  std::string reason = {};  // of the first trial that neither passed nor failed
  std::string corpus = {};  // what was learned, as text
  // Of a file that is compiled for the host: its branches that inputs of the search reached, all of them, and
  // the constants of its comparisons that the search tried as logits.
  std::int64_t branches_reached = 0, branches = 0, constants = 0;
};

template <IsA<FuzzOutcome> O, class Visit>
void each_field(O& o, Visit& visit) {
  visit("judged", o.judged);
  visit("found", o.found);
  visit("first", o.first);
  visit("records", o.records);
  visit("evaluations", o.evaluations);
  visit("passed", o.passed);
  visit("elements", o.elements);
  visit("coarse", o.coarse);
  visit("largest_share", o.largest_share);
  visit("largest_check", o.largest_check);
  visit("seconds", o.seconds);
  visit("reason", o.reason);
  visit("corpus", o.corpus);
  visit("branches_reached", o.branches_reached);
  visit("branches", o.branches);
  visit("constants", o.constants);
}

/// "branches: 31 of 40 reached by the search, 2 constants of comparisons tried as logits"; empty if they were
/// not watched.
std::string words_of_branches(const FuzzOutcome& o);

/// Searches one kernel, prints what came out, and writes its case files into `out` and its corpus. Goes on
/// with what the journal knows.
FuzzOutcome fuzz_target(const Target& target, Op op, const FuzzOptions& options, const Shard& shard,
                        const std::filesystem::path& out, Journal& journal);

/// The outcomes of all, one search after the other. An outcome that the run's journal has is not made again.
std::vector<FuzzOutcome> run_searches(const std::vector<const Target*>& targets, RunFrame& run,
                                      const std::function<FuzzOutcome(const Target&)>& search);

}  // namespace assay
