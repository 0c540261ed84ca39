// One genome tried on one candidate: generated, launched, judged. Softmax rows that the fast judge can serve
// are launched once and looked at by it; what it does not pass, whatever it does not judge, and every trial
// that the search wants to know better goes through check_case.
#pragma once

#include <array>
#include <optional>

#include "fuzz/trial.hpp"

namespace assay::fuzz {

struct Evaluation {
  std::array<double, kChecks> share;  // largest error / bound of each check; negative where none was compared
  std::uint64_t dispatch = 0;         // LaunchOutcome::dispatch
  bool far = false;                   // some output is subnormal or 0: its bound is reached trivially
  std::int64_t elements = 0;          // judged
  std::optional<Record> record;       // where check_case judged
  Signature signature;                // of a failure; else its check is empty
};

class GenomeEvaluator {
 public:
  GenomeEvaluator(const Variant& variant, Op op);

  /// `full`: by check_case in any case. `wanted`: shares of the element check above it are checked in full.
  Evaluation operator()(const Genome& g, bool full, double wanted) const;
  const Variant& variant() const { return variant_; }

 private:
  bool look(const Trial& trial, Evaluation& e) const;

  Variant variant_;
  Op op_;
  bool fast_;
};

}  // namespace assay::fuzz
