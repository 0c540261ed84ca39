// A case file: one trial that failed, complete in itself. JSON, the logits as hexadecimal floating-point
// numbers (equal neighbours counted, not repeated), with what ran, how it failed and how it was found.
#pragma once

#include <optional>
#include <string>

#include "fuzz/trial.hpp"

namespace assay::fuzz {

struct CaseFile {
  std::string key;     // of the candidate that failed
  std::string origin;  // the words that name it to assay, where it is no registered key
  std::string claim;   // what it was judged as, in words
  Op op = Op::softmax;
  Trial trial;  // its dtype is the candidate's
  Signature fails;
  std::string detail;            // the first violation in words
  std::string found;             // how: the command that searched
  std::optional<Genome> genome;  // what it was shrunk from
};

std::string text_of(const CaseFile& c);
/// Throws InputError: one line naming `file`, the field and what is wrong with it.
CaseFile case_from_text(const std::string& text, const std::string& file);

/// "0x1.8p+1", "-0x0p+0", "inf", "nan": a value of a format as text, and back. Throws InputError.
std::string hex_text(double x);
double value_of_text(const std::string& text, Dtype dtype);

}  // namespace assay::fuzz
