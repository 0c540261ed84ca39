// Where a kernel is right. Most kernels out there are made for some row lengths, aligned addresses or
// ordinary logits, and say an error elsewhere. The contract is the largest domain in which every case passes;
// CONTRACT.md beside this file says how it is found and what counts as a limit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"

namespace assay::conformance {

/// One thing that callers may vary, and what is known of it.
struct Axis {
  /// holds: tried, and every case passed; declared: the author said how far it goes; found: nobody said so,
  /// and beyond it the kernel says no; not_promised: empty rows and launches without rows, which a caller
  /// does not rely on; not_tried: no case of this run shows it; wrong: cases fail inside the contract.
  enum class State { holds, declared, found, not_promised, not_tried, wrong };
  std::string name;  // "row length", "alignment"
  State state = State::not_tried;
  std::string within = {};   // "a multiple of 32, at most 1024"
  std::string outside = {};  // what was seen there: "V = 33: an error (returned status 9)"
};
const char* name(Axis::State s);

struct Contract {
  std::vector<Axis> axes;
  /// The words that nobody declared and that hold: "V_multiple=32; max_V=1024". Empty: none are needed.
  std::string found;
  /// What was seen outside them, one sentence each.
  std::vector<std::string> outside;
  /// "rows >= 1; V >= 1, a multiple of 32; finite logits".
  std::string within() const;
};

struct ContractedResult {
  ConformanceResult result;  // of the run inside the contract
  Contract contract;
};

/// run_conformance; where cases fail because the kernel says no to them, the limits that explain it are
/// looked for, and everything is run again as if they had been declared. `declared`: the author's own words,
/// which are promises: none of them is looked for. `target_with`: the words of a reproduce line, with more
/// declared.
ContractedResult run_within_contract(const std::function<Variant()>& make, const ConformanceOptions& options,
                                     const std::string& declared,
                                     const std::function<std::string(const std::string& more)>& target_with);

/// The axes as the records of a run show them, for a variant whose limits are `variant`'s; `found`: the words
/// among them that nobody declared, with what was seen beyond them.
Contract contract_of(const Variant& variant, const std::vector<Record>& records, const std::string& found,
                     const std::vector<std::string>& outside);

}  // namespace assay::conformance
