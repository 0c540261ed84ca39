// SPDX-License-Identifier: Apache-2.0
// Where the time of a sweep goes.
#pragma once

#include <chrono>
#include <string>

namespace assay {

/// Seconds of the thread that drives the machine.
struct SweepSeconds {
  double all = 0;
  double inputs = 0;        // logits: made, copied, repeated
  double verification = 0;  // outputs judged, or compared with those that were
  double timing = 0;        // the launches that are timed, and those before
  double ceilings = 0;      // copies and reads of as many bytes
  double files = 0;         // records written
  double waiting = 0;       // for judgements on other threads
  double rest() const { return all - inputs - verification - timing - ceilings - files - waiting; }
};

/// "seconds: 512.3 in all: inputs 20.1, verification 30.2, ..."
std::string seconds_line(const SweepSeconds& s);

/// Adds the time from its construction to its destruction.
class Spent {
 public:
  explicit Spent(double& into) : into_(into) {}
  Spent(const Spent&) = delete;
  Spent& operator=(const Spent&) = delete;
  ~Spent() { into_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  double& into_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace assay
