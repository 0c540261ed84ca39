// SPDX-License-Identifier: Apache-2.0
// Everything that the report's page and summary show: records, error profiles, and the environment of the
// run. Renderers take nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/conformance/contract/contract.hpp"
#include "accuracy/judge/error_profile.hpp"
#include "accuracy/record.hpp"
#include "reports/data/functions_report.hpp"

namespace assay {

/// A description of one key, as `assay list` shows it.
struct KeyInfo {
  std::string key, variant, dtype, backend;
  std::string op;            // its main op
  std::string algorithm;     // naive, safe, online; "online, late", "safe, shifted"
  std::string exp;           // accurate, fast, half, exp2_fma
  std::string division;      // ieee, approximate, reciprocal
  std::string internals;     // f32, f16, bf16
  std::string accesses;      // claimed memory accesses per element, "2+1" = loads + stores
  std::string policy;        // "all -inf: NaN; +inf: NaN; NaN: NaN"
  std::string determinism;   // run_to_run, ...
  std::string not_run;       // empty, or why the key cannot run here: "no GPU: ..."
  std::string claimed = {};  // the claim in the words of behaves_like: "online, shift subtract, ..."
};

/// Errors of one key on one family at one V, by |x - m| and by sign.
struct Profile : ErrorProfile {
  std::string key, variant, dtype, backend, family;
  std::int64_t V = 0;
};

struct FamilyInfo {
  std::string name, why;
};

/// How fast outputs were judged: one tier of the oracle on one part of a machine.
struct OracleSpeedRow {
  std::string key, tier, where;
  std::int64_t rows = 0, V = 0;
  double elements_per_second = 0, escalated = 0;
  std::int64_t failed = 0;
};
struct OracleSpeedData {
  std::string family, machine;
  std::vector<OracleSpeedRow> rows;
};

struct ReportData {
  std::vector<std::pair<std::string, std::string>>
      environment;  // pairs of label and value: commit, machine, GPU, driver, ...
  std::vector<KeyInfo> keys;
  /// For assay check, by key: where the kernel is right. Empty if single cases were requested.
  std::map<std::string, conformance::Contract> contracts;
  std::vector<FamilyInfo> families;
  std::vector<Record> records;  // every planned case in plan order, including not_run ones
  std::vector<Profile> profiles;
  OracleSpeedData oracle;                    // empty if not measured
  std::int64_t planned = 0, executed = 0;    // number of cases; planned excludes not_run keys
  std::optional<FunctionsReport> functions;  // the building blocks, from a functions.json
  double seconds = 0;
  bool quick = false;     // --quick of check or report: the page says what was left out
  std::string part = {};  // "part 0 of 8" if this is one part of a run (--shard)
};

}  // namespace assay
