// SPDX-License-Identifier: Apache-2.0
// The plan of a report: which keys run on which inputs, as units of the group `families`. The plan is made
// and printed before anything runs, and what ran is compared with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"
#include "kernels/registry.hpp"
#include "reference/inputs/inputs.hpp"
#include "reference/k_range.hpp"
#include "reference/oracle/oracle.hpp"

namespace assay {

/// What the command line selects. An empty list means everything.
struct Selection {
  std::vector<std::string> keys;      // glob patterns over variant/dtype@backend
  std::vector<std::string> families;  // names
  std::vector<std::int64_t> sizes;    // V
  std::vector<std::string> dtypes;
  std::optional<std::int64_t> rows;
  AskedPick pick;
  std::optional<std::int64_t> pitch;  // distance between row starts in the first launch; default V
  std::optional<std::string> op;
  std::string logits;  // FILE or FILE:NAME, used instead of families
  std::uint64_t seed = 1;
  bool full = false;
  bool quick = false;      // fewer row lengths and rows; not together with full
  Tier tier = Tier::fast;  // of the oracle; verdicts are the same
};

/// The family name in records whose rows come from a file.
inline constexpr const char* kLogitsFamily = "logits";

struct Plan {
  std::vector<const Variant*> keys;
  std::vector<const Family*> families;
  std::vector<std::int64_t> sizes;
  /// In record order. Every case names its key.
  std::vector<conformance::Unit> units;
  bool probes = false;    // true: the last units are the keys' probes, one each
  std::int64_t rows = 0;  // rows of input in all other units
  std::int64_t records = 0;
  std::int64_t elements = 0;  // rows x V over all records
};

/// Throws InputError for an unknown key, family or dtype, an impossible V, k or rows, or an empty plan.
Plan make_plan(const Selection& selection);

/// How long each unit takes, roughly.
std::vector<double> weights_of(const Plan& plan);
/// Keeps only these units, for one process of several. The indices are sorted.
void keep_units(Plan& plan, const std::vector<std::size_t>& kept);

/// "32 keys x 37 families x 18 V, 25000 rows of input: 20412 records, 214.0 million elements".
std::string describe(const Plan& plan);

}  // namespace assay
