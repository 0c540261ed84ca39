// SPDX-License-Identifier: Apache-2.0
// The certificate as a pure function of what lies beside it: the facts that `assay adopt` writes first, and
// the data of its steps. `assay verify` calls the same function.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/adopt/certificate.hpp"
#include "reports/data/report_data.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {

inline constexpr const char* kFactsFile = "facts.json";

/// What the search did with one kernel.
struct SearchFacts {
  std::string key;
  std::int64_t planned = 0, evaluations = 0, passed = 0, coarse = 0, found = 0;
  bool judged = false;
  double largest_share = 0, seconds = 0;
  std::string branches = {};  // how many of the branches of a file the search reached
  std::string first = {};     // the command that repeats the first finding
};

/// Which functions a kernel uses.
struct UsedFacts {
  std::string key, why_none;
  std::vector<std::string> tested;
  bool named = false;                 // those that its source names; which of them run is not known
  std::vector<std::string> untested;  // what the source names, and is not tested on its own
};

/// What no data of a step say.
struct AdoptionFacts : AdoptionCall {
  bool accept_limits = false;
  std::string imports;  // the functions that the binary imports; empty: there is no binary
  std::vector<AdoptedKernel> kernels;
  std::vector<std::string> open;  // what no hash covers, and what was left out of the source
  std::vector<SearchFacts> searched;
  std::string not_searched;  // which kernels were not searched, and why
  std::vector<UsedFacts> used;
  std::vector<std::string> timed;        // the configurations of the sweep
  std::string not_timed, sweep_stopped;  // not_timed: which kernels, and why
  double sweep_seconds = 0;
};

std::string render_facts(const AdoptionFacts& facts);

/// What the steps wrote.
struct AdoptionData {
  ReportData check;  // with its records
  std::optional<FunctionsReport> functions;
  std::vector<SweepRecord> sweep;
  std::vector<CertifiedData> files;  // with their hashes
};

Certificate certificate_of(const AdoptionFacts& facts, const AdoptionData& data);

/// Of what lies in the folder; `files` are those that it names. Throws InputError or another exception that
/// says what is wrong with a file.
Certificate certificate_in(const std::filesystem::path& folder, std::vector<CertifiedData> files);

/// The files in the folder that an adoption writes before the certificate, with their hashes, in the order of
/// their names.
std::vector<CertifiedData> data_in(const std::filesystem::path& folder);

/// Adds the step of the sweep, and its speeds.
void add_sweep(Certificate& c, const AdoptionFacts& facts, const std::vector<SweepRecord>& records);

}  // namespace assay
