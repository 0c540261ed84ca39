// SPDX-License-Identifier: Apache-2.0
// A case file: one failing trial, complete in itself. JSON with what ran, how it failed, how it was found,
// and the logits as hexadecimal floating-point numbers (a run of equal neighbours is written once with its
// count).
#pragma once

#include <optional>
#include <string>

#include "fuzz/trial.hpp"

namespace assay::fuzz {

struct CaseFile {
  std::string key;            // registry key of the candidate that failed
  std::string origin;         // the command-line words that name it, if it has no registered key
  bool with_options = false;  // the origin is a file with the options that it needs
  std::string claim;          // the claim it was judged by, in words
  Op op = Op::softmax;
  Trial trial;  // its dtype is the candidate's
  Signature fails;
  std::string detail;            // the first violation in words
  std::string found;             // the command that searched
  std::optional<Genome> genome;  // the genome that the trial was shrunk from
};

std::string text_of(const CaseFile& c);
/// Throws InputError: one line that names `file`, the field and the error.
CaseFile case_from_text(const std::string& text, const std::string& file);

/// The bits of a value as text, and back: "0x1.8p+1", "-0", "inf", "nan", "nan:0x7c15" for a NaN with other
/// bits. Throws InputError.
std::string hex_text(Dtype dtype, std::uint64_t bits);
std::uint64_t bits_of_text(const std::string& text, Dtype dtype);

}  // namespace assay::fuzz
