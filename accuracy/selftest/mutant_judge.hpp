// SPDX-License-Identifier: Apache-2.0
// Judges the entries of kernels/mutants: a fault or a cheat on the input that its entry names, a right kernel
// on every family.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "accuracy/case/case.hpp"
#include "kernels/mutants/mutants.hpp"
#include "kernels/registry.hpp"
#include "reference/tensor.hpp"

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

namespace assay::peer {

// How other projects judge a softmax, from their documentation, to show what their rules let through. None of
// this decides a verdict here.

/// What every rule compares: the expected value, rounded to the output's type, and the value that was
/// returned.
struct Pair {
  double want = 0;
  double got = 0;
};

struct Rule {
  const char* name;
  const char* formula;  // in words, as in its documentation
  const char* source;
  bool (*accepts)(Dtype out, Op op, std::int64_t V, std::span<const Pair> pairs);
};
/// allclose(1e-4), assert_close, benchdnn.
std::span<const Rule> rules();

/// The reference of such tests: the op in double precision, with the maximum subtracted, rounded to `out`.
/// Values only, in rows of Problem::out_columns.
std::vector<double> reference(Op op, const Tensor& logits, const Pick& pick, Dtype out);

/// Inputs as such tests draw them: `rows` rows of row length V. normal: N(0, 1), as torch.randn gives.
/// benchdnn: a few elements at 90, 89 and 88 (or 88 below zero in every other group of 64 rows), and the
/// lowest finite number everywhere else.
Tensor normal_inputs(Dtype dtype, std::int64_t rows, std::int64_t V);
Tensor benchdnn_inputs(Dtype dtype, std::int64_t rows, std::int64_t V);

/// Runs the kernel once on dense rows, with its outputs set to zero before, and pairs its outputs with the
/// reference. Empty if the launch failed: then no rule passes.
std::vector<Pair> outputs(const Variant& variant, Op op, const Tensor& logits, const Pick& pick);

}  // namespace assay::peer
