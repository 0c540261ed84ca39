// SPDX-License-Identifier: Apache-2.0
// Where a kernel is right. Most kernels are made for certain row lengths V, aligned addresses or ordinary
// logits, and return an error elsewhere. The contract is the largest domain in which every case passes.
// CONTRACT.md in this folder says how it is found and what counts as a limit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// One property that callers may vary, and what is known about it.
struct Axis {
  /// holds: it was tried, and every case passed;
  /// declared: the author said how far it goes;
  /// found: nobody declared it, and beyond it the kernel refuses;
  /// not_promised: empty rows and launches without rows, which a caller does not rely on;
  /// not_tried: no case of this run shows it;
  /// wrong: cases fail inside the contract.
  enum class State { holds, declared, found, not_promised, not_tried, wrong };
  std::string name;  // "row length", "alignment"
  State state = State::not_tried;
  std::string within = {};   // "a multiple of 32, at most 1024"
  std::string outside = {};  // what was seen there: "V = 33: an error (returned status 9)"
};
const char* name(Axis::State s);

struct Contract {
  std::vector<Axis> axes;
  /// The limits that nobody declared and that were found: "V_multiple=32; max_V=1024". Empty: none are
  /// needed.
  std::string found;
  /// What was seen outside these limits, one sentence each.
  std::vector<std::string> outside;
  /// The region that the adopter asked for (region.hpp), in his words; empty if he asked for none.
  std::string required = {};
  /// What of that region is beyond the limits, whoever declared or found them.
  std::vector<std::string> uncovered = {};
  /// Limits that the kernel's own file declares, the adopter did not, and that leave out a part of the region
  /// (of the usual one, if he asked for none): "V_in={2}; max_rows=1".
  std::string own = {};
  /// True if the kernel is right only within limits that the adopter has not declared himself.
  bool limited() const { return !found.empty() || !own.empty(); }
  /// The declaration by which he would accept them.
  std::string to_declare() const { return own.empty() || found.empty() ? own + found : own + "; " + found; }
  /// "rows >= 1; V >= 1, a multiple of 32; finite logits".
  std::string within() const;
};

struct ContractedResult {
  ConformanceResult result;  // of the run inside the contract
  Contract contract;
};

/// Runs run_conformance. If cases fail because the kernel refuses them, it looks for the limits that explain
/// this, and runs everything again as if they had been declared. `declared`: the author's own words; they are
/// promises, so none of these limits is looked for. `target_with`: returns the words of a reproduce line with
/// more declared.
ContractedResult run_within_contract(const std::function<Variant()>& make, const ConformanceOptions& options,
                                     const std::string& declared,
                                     const std::function<std::string(const std::string& more)>& target_with);

/// Sets `required`, `uncovered` and `own`. `variant`: with all limits, those that were found too; `typed`:
/// the adopter's own declaration. Throws InputError if `required` is no region.
void add_coverage(Contract& c, const Variant& variant, const std::string& typed, const std::string& required);

/// The axes as the records of a run show them. `variant`: the variant with its limits. `found`: those of the
/// limits that nobody declared. `outside`: what was seen beyond them.
Contract contract_of(const Variant& variant, const std::vector<Record>& records, const std::string& found,
                     const std::vector<std::string>& outside);

}  // namespace assay::conformance
