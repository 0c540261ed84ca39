// SPDX-License-Identifier: Apache-2.0
// Judges the entries of kernels/mutants: a fault or a cheat on the input that its entry names, a right kernel
// on every family.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "accuracy/case/case.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay {

/// The verdict on one entry.
struct MutantVerdict {
  const Mutant* mutant = nullptr;
  bool ran = false;
  bool refused = false;
  std::int64_t cases = 0;           // records with a verdict
  std::vector<std::string> failed;  // checks that failed, as they came
  std::string detail;               // the named check's first violation, or why it did not run
  std::string reproduce;            // of that violation

  bool by_named_check() const;
  /// True if the entry ran, and was refused exactly if it is not a right kernel.
  bool as_expected() const { return ran && (mutant->kind == Kind::right ? !refused : refused); }
};

/// Inputs and exact results, made once and shared by all entries and threads.
class MutantInputs {
 public:
  /// `quick`: right kernels run on three row lengths instead of six.
  explicit MutantInputs(bool quick) : quick_(quick) {}

  const Case& of(const char* family, Dtype dtype, std::int64_t V, std::int64_t rows);
  std::vector<std::int64_t> sizes_of_right_kernels() const;
  bool quick() const { return quick_; }

 private:
  struct Slot {
    std::once_flag once;
    std::unique_ptr<const Case> made;
  };
  bool quick_;
  std::mutex lock_;
  std::map<std::tuple<std::string, Dtype, std::int64_t, std::int64_t>, std::unique_ptr<Slot>> slots_;
};

/// The number of rows of the entry's case: what it asks for, else the family's own number, at least 3.
std::int64_t mutant_rows(const Mutant& m);

/// Never throws for a failing kernel.
MutantVerdict judge_mutant(const Mutant& mutant, MutantInputs& inputs);

}  // namespace assay
