// SPDX-License-Identifier: Apache-2.0
// What a verification finds, and the cases of a certificate that it runs again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {

/// How one case came out. Empty `difference`: as certified.
struct Replayed {
  const CertifiedCase* then = nullptr;
  std::string difference;
};

/// What a verification finds.
struct VerifyResult {
  std::vector<std::string> differences;   // of files, of the certificate itself, of kernels
  std::vector<std::string> not_compared;  // data of steps that do not lie beside the certificate
  std::vector<std::string> notes;         // what was typed and is not what the certificate says
  std::vector<Replayed> cases;
  std::int64_t fresh = 0;           // new cases that were judged
  std::vector<Record> fresh_wrong;  // of these, the ones that failed
  std::vector<Record> records;      // of the cases that were replayed
  bool bits = false;                // the figures of at least one kernel were compared bit for bit
};

/// A certificate of a kernel that passed, perhaps within limits that nobody declared or judged in part.
bool is_right(const Certificate& c);

/// Which cases are run again, and by how many threads (0: one per core).
struct ReplayOptions {
  std::size_t cases = 20;
  std::uint64_t seed = 1;
  int threads = 0;
};

/// Runs a sample of the cases again. `same_bytes`: kernels on the CPU must give the same bits. Of a kernel
/// that passed, as many new cases are judged.
void replay_cases(const Certificate& c, const ReplayOptions& o, const std::vector<Target>& targets,
                  bool same_bytes, VerifyResult& v);

}  // namespace assay
