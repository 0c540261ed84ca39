// SPDX-License-Identifier: Apache-2.0
// The certificate of `assay adopt`: which kernel was judged, what ran, what came out, and what was not
// proved. CERTIFICATE.md in this folder says what the fields mean. `assay verify` reads it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/ops.hpp"
#include "reports/data/outcome.hpp"

namespace assay {

/// A change that a reader of older certificates would stumble over gives the next number.
inline constexpr int kCertificateVersion = 4;

/// A file that the verdict is about.
struct CertifiedFile {
  std::string role;         // "source", "include", "binary", "system", "compiler"
  std::string path;         // as it was named; of a key, the project's file that the binary was made from
  std::string sha256 = {};  // empty: the file is not there, and the binary holds what was made from it
};

/// The words of the command line that name the kernel.
struct CertifiedTarget {
  std::string word, entry, nvcc_flags, declare, name, op, python;
  std::vector<std::string> args, types;
  bool host = false;
  double timeout_seconds = 20;
};

struct CertifiedAxis {
  std::string axis, state, within, outside;  // as in the contract of a check
};

/// One check over all records of a kernel.
struct CertifiedCheck {
  std::string name;
  Status verdict = Status::pass;  // or fail, inconclusive
  std::int64_t judged = 0, failed = 0, undecided = 0;
  double utilisation = 0;  // largest error / bound; 0 where the check is exact
  /// How small an error it would have refused; empty for a check that compares exactly.
  std::optional<double> resolution = {};
};

/// A kernel as it says what it is.
struct AdoptedKernel {
  std::string key, op, claim;
  std::string description_sha256;  // of what the file says of its kernels; empty for a registered one
  std::string made_by;             // compiler and flags, where this program or the caller compiled it
  bool on_host = false;
};

struct CertifiedKernel : AdoptedKernel {
  std::string where;                   // in_process, sandbox, not_sandboxed, landlock
  Verdict verdict = Verdict::not_run;  // of the check
  std::string within, undeclared;      // the contract; its limits that nobody declared
  std::string own_limits;              // limits that only its own file declares, and not who adopts it
  std::string required;                // the inputs that it must take (--require); empty: none were named
  std::vector<std::string> uncovered;  // of these what it does not take
  std::vector<std::string> outside;
  std::vector<CertifiedAxis> axes;
  std::int64_t planned = 0, passed = 0, failed = 0, inconclusive = 0, unsupported = 0, not_run = 0;
  std::int64_t too_coarse = 0;   // of `unsupported`: their claimed arithmetic lets nearly any output pass
  std::int64_t tried_again = 0;  // of `passed`: only in a fresh process, after something else at first
  std::string at_first;          // of the first of these: what happened to it before
  std::int64_t rows_judged = 0;  // in cases that passed
  /// Cases that every caller relies on, and those of them that are beyond its limits.
  std::int64_t core = 0, core_beyond = 0;
  /// Row lengths that were judged: how many, the shortest, the longest; and the largest number of rows.
  std::int64_t lengths = 0, least_V = 0, most_V = 0, most_rows = 0;
  /// max_ulp_ordinary: on rows as they occur in use (is_ordinary_family); empty if none was judged.
  std::optional<double> max_ulp, max_ulp_ordinary, max_bound_ratio, resolution, resolution_sum;
  std::vector<CertifiedCheck> checks;
};

/// How long one configuration took.
struct CertifiedSpeed : CaseShape {
  std::string key;
  Status verified = Status::unsupported;  // were the outputs of the timed launches right?
  /// share_of_fastest: of the fastest way in which the machine moved as many bytes (share_of_fastest of a
  /// SweepRecord). Certificates from before it was measured lack it.
  std::optional<double> median_us, gb_per_s, share_of_copy, share_of_fastest;
};

/// A part of the adoption: check, fuzz, functions, sweep.
struct CertifiedStep {
  std::string name;
  Status state = Status::not_run;
  std::string words = {};                  // what came out; of a step that did not run, why
  std::int64_t planned = 0, executed = 0;  // cases, genomes, functions, configurations
  std::uint64_t seed = 0;
  double seconds = 0;
  std::string command = {};  // of the first failure: what repeats it
};

/// A case that `assay verify` may replay.
struct CertifiedCase : CaseShape {
  bool worst = false;  // always replayed
  std::string key, group, setup, family, op;
  std::uint64_t seed = 0;
  Status status = Status::not_run;
  std::string check;  // the first that failed
  std::int64_t rows_judged = 0;
  std::optional<double> max_ulp, max_bound_ratio, resolution;
  std::string reproduce;
};

struct CertifiedFact {
  std::string label, value;
};

/// What was asked for, and of which files.
struct AdoptionCall {
  std::string command, made;      // made: when, in UTC
  std::string extent;             // quick, normal, full
  std::vector<std::string> only;  // groups of the check, if not all ran
  std::uint64_t seed = 1;
  bool seed_drawn = false;  // after the files' hashes were known; false: somebody chose it
  CertifiedTarget target;
  std::vector<CertifiedFile> files;
};

/// A file that a step wrote, as it is called in the certificate's folder.
struct CertifiedData {
  std::string path, sha256;
};

struct Certificate : AdoptionCall {
  int version = kCertificateVersion;
  Verdict verdict = Verdict::not_run;
  std::string reason;
  int exit_status = 3;
  std::vector<CertifiedFact> environment;
  std::vector<CertifiedStep> steps;
  std::vector<CertifiedKernel> kernels;
  std::vector<CertifiedSpeed> speed;
  std::vector<CertifiedCase> cases;
  std::vector<CertifiedData> data;
  std::vector<std::string> not_proved;
};

/// The op of the kernel that was timed; empty if the certificate has no such kernel.
std::string op_of(const Certificate& c, const CertifiedSpeed& s);

/// The text of certificate.json. Its last member, sha256, is the hash of all the others.
std::string render_certificate(const Certificate& c);

/// A word of a certificate that is none of those that its field may have.
struct UnknownWord : InputError {
  using InputError::InputError;
};

/// Throws InputError, one line that names `file`, if the text is no whole certificate of this version;
/// UnknownWord, if a word is why.
Certificate certificate_from_text(const std::string& text, const std::string& file);

/// Empty, or how the text differs from what `assay adopt` wrote: another byte, or its own hash is of other
/// contents. The text must be a certificate, but its words may be unknown.
std::string changed_since(const std::string& text);

/// The text of a certificate with these members. The member sha256 is made again.
std::string text_of_members(nlohmann::json members);

/// The JSON Schema, as `assay schema --certificate` prints it.
nlohmann::json certificate_schema();

}  // namespace assay
