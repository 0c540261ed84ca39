// SPDX-License-Identifier: Apache-2.0
// One configuration of a sweep: verified, timed, verified again, and compared with the machine's ceilings.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "reports/sweep/data/record.hpp"
#include "reports/sweep/data/seconds.hpp"
#include "reports/sweep/plan.hpp"
#include "reports/sweep/rig/rig.hpp"
#include "reports/sweep/subjects.hpp"
#include "reports/sweep/timing.hpp"

namespace assay {

/// Checks the outputs that a timed kernel left: all of them by the fast judge if it supports the claim,
/// otherwise a few rows by the usual checker.
struct Verification {
  Status verdict = Status::unsupported;  // pass, fail, or unsupported: not judged
  std::string reason;                    // empty if all elements passed
  std::int64_t elements = 0;             // number of judged outputs
  std::optional<double> max_ulp, max_utilisation;
};

/// Writes it into the record.
void put_verification(TimedFact& f, const Verification& v);

/// Seconds for the rows that the first look leaves open. A right kernel has none or few.
inline constexpr double kSecondLookSeconds = 5;

/// The result of a fast judgement that left so many rows open.
Verification verification_of(const FastJudgement& judgement, std::int64_t open_rows);

/// Judges the outputs of the rig's last launch. Throws as the rig does.
Verification verify_outputs(Rig& rig, const Variant& variant, const Problem& problem, SweepInputs& inputs);

/// A verification that was made, or that any thread may make: it has what it needs of the rig.
struct Judging {
  std::optional<Verification> now;
  std::function<Verification()> later;  // null if `now` is set
  Verification result() const { return now ? *now : later(); }
};
/// The same in two steps. If the judge works on the rig's own memory, the first step makes the judgement.
Judging begin_verification(Rig& rig, const Variant& variant, const Problem& problem, SweepInputs& inputs);

/// Combines two results: fail if either failed, judged if both were judged.
Verification combined(const Verification& before, const Verification& after);

/// The machine of one backend. It is opened at its first job, and not used again once it is lost.
class Side {
 public:
  /// `beside`: outputs may be judged while the next launches are timed.
  Side(bool device, bool beside) : device_(device), beside_(beside) {}
  /// Throws std::runtime_error if there is no such machine.
  void open() {
    if (rig_) return;
    rig_ = device_ ? make_device_rig() : make_host_rig();
    ceilings_ = std::make_unique<Ceilings>(*rig_);
  }
  Rig& rig() { return *rig_; }
  Ceilings& ceilings() { return *ceilings_; }
  bool judges_beside() const { return beside_; }
  bool opened() const { return rig_ != nullptr; }
  /// True at the first call for a key.
  bool first_of(const std::string& key) { return seen_.insert(key).second; }

 private:
  bool device_, beside_;
  std::unique_ptr<Rig> rig_;
  std::unique_ptr<Ceilings> ceilings_;
  std::set<std::string> seen_;
};

Problem problem_of(const SweepJob& j);

/// "its first launch took over 200 ms: one sample"
std::string too_long();

/// The record's speed, and its shares of the ceilings that it holds.
void put_rates(SweepRecord& r, const Machine& m);

/// What is left of a measurement: the judgement of outputs that were fetched, which any thread may make.
/// Throws std::runtime_error if they are wrong; then the record keeps no times.
using Completion = std::function<void(SweepRecord&)>;

/// Throws as the rig does, SweepUnsupported, and std::runtime_error for wrong outputs and for a time that
/// contradicts the machine. Returns null if nothing is left.
Completion measure(SweepRecord& r, const SweepJob& j, Side& side, SweepInputs& inputs, SweepSeconds& seconds);

}  // namespace assay
