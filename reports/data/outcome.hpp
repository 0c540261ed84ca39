// SPDX-License-Identifier: Apache-2.0
// The two vocabularies of outcomes: Status says how one fact ended (a case, a timing, a function, an entry of
// the self-test, a step of a certificate), Verdict how a run did.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

#include "accuracy/record.hpp"

namespace assay {

/// The result of a run. inconclusive: nothing went wrong, but something stayed undecided; the kernel is not
/// adopted, and not shown to be wrong. If cases of a check were lost (to load, or because a device was
/// lacking) and no other case failed, the check shows nothing about its kernel: not_run if no case ran,
/// otherwise incomplete. not_judged: nothing went wrong, but no output was judged (only_launched(), or all
/// cases lie outside of a domain or are too coarse). judged_in_part: a check in which nothing went wrong, but
/// most cases of a kernel were too coarse to be judged, or most of those that every caller has lie outside of
/// its limits. not_covered: right where it was judged, and its limits leave out a part of what --require asks
/// for.
enum class Verdict { pass, fail, inconclusive, incomplete, not_run, not_judged, judged_in_part, not_covered };
/// As the terminal, pages and certificates have them. Nothing else writes these words.
inline constexpr std::array kVerdictWords = {"PASS",    "FAIL",       "INCONCLUSIVE",   "INCOMPLETE",
                                             "NOT RUN", "NOT JUDGED", "JUDGED IN PART", "NOT COVERED"};
inline const char* name(Verdict v) { return kVerdictWords[static_cast<std::size_t>(v)]; }

/// The verdict with which a line of a terminal begins, if there is one.
inline std::optional<Verdict> verdict_that_begins(std::string_view line) {
  for (std::size_t i = 0; i < kVerdictWords.size(); ++i) {
    const std::string_view word = kVerdictWords[i];
    if (line.starts_with(word) &&
        (line.size() == word.size() || line[word.size()] == ' ' || line[word.size()] == ':'))
      return static_cast<Verdict>(i);
  }
  return {};
}
inline const char* pass_or_fail(bool passed) { return name(passed ? Verdict::pass : Verdict::fail); }

/// Where a file has no word for a Status.
inline constexpr const char* kNoWord = nullptr;

/// The words of a fact's outcome for programs (--json, --junit).
inline constexpr std::array kOutcomeWords = {"passed",  "failed", "undecided", "skipped",
                                             "skipped", "failed", "failed"};

/// True of what shows that something is wrong: fail, crashed, hung.
inline bool is_wrong(Status s) { return s == Status::fail || s == Status::crashed || s == Status::hung; }
/// True of what a run that passes has none of: also inconclusive.
inline bool spoils_a_run(Status s) { return is_wrong(s) || s == Status::inconclusive; }

/// How many facts ended in which way.
class StatusCounts {
 public:
  std::int64_t& operator[](Status s) { return n_[static_cast<std::size_t>(s)]; }
  std::int64_t operator[](Status s) const { return n_[static_cast<std::size_t>(s)]; }
  std::int64_t total() const { return std::accumulate(n_.begin(), n_.end(), std::int64_t{0}); }
  /// Of those that spoil a run.
  std::int64_t bad() const { return wrong() + (*this)[Status::inconclusive]; }
  std::int64_t wrong() const {
    return (*this)[Status::fail] + (*this)[Status::crashed] + (*this)[Status::hung];
  }
  std::int64_t executed() const { return total() - (*this)[Status::not_run]; }
  void add(const StatusCounts& other) {
    for (std::size_t i = 0; i < n_.size(); ++i) n_[i] += other.n_[i];
  }

 private:
  std::array<std::int64_t, 7> n_{};
};

inline Status outcome(const Record& r) { return r.status; }
template <class Fact>
std::int64_t cases_in(const Fact&) {
  return 1;
}

template <class Fact>
StatusCounts count_outcomes(const std::vector<Fact>& facts) {
  StatusCounts n;
  for (const Fact& f : facts) n[outcome(f)] += cases_in(f);
  return n;
}

}  // namespace assay
