// Who tests the tester: every kernel with a planted fault and every cheat must be refused, by the check its
// entry names, and every right kernel accepted. Beside that, which of them the rules of others let through.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/record.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay {

inline constexpr std::size_t kPeerRules = 3;

/// What became of one entry.
struct MutantVerdict {
  const Mutant* mutant = nullptr;
  bool ran = false;
  bool refused = false;
  std::vector<std::string> failed;  // checks that failed, in the order of the checks
  std::string detail;               // the named check's first violation, or why it did not run
  std::string reproduce;
  /// Whether each peer's rule accepts it: on the inputs such tests draw, and on ours. Meaningless if not
  /// peers_ran.
  bool peers_ran = false;
  std::array<bool, kPeerRules> usual{}, killing{};

  bool by_named_check() const;
  /// What had to happen happened.
  bool as_expected() const { return ran && (mutant->kind == Kind::right ? !refused : refused); }
};

struct SelftestOptions {
  std::string name;    // only entries of this fault or id; empty: all
  bool quick = false;  // 16 rows instead of 128 for the peers' rules
  int threads = 0;     // 0: one per core
  std::function<void(std::int64_t done, std::int64_t planned)> progress;
};

struct Selftest {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<MutantVerdict> verdicts;
  std::int64_t peer_rows = 0;
  double seconds = 0;
};

struct SelftestCounts {
  std::int64_t faults = 0, killed = 0, by_name = 0, survived = 0;
  std::int64_t cheats = 0, cheats_refused = 0;
  std::int64_t right = 0, accepted = 0;
  std::int64_t not_run = 0;
  std::int64_t compared = 0;  // faults and cheats that peers' rules were asked about
  std::array<std::int64_t, kPeerRules> pass_usual{}, pass_killing{};
};

/// One entry, on its own input.
MutantVerdict judge_mutant(const Mutant& mutant);
/// Throws InputError where no entry has the name.
Selftest run_selftest(const SelftestOptions& options);
SelftestCounts count(const Selftest& s);
/// Something ran, and all that ran was as expected.
bool selftest_passed(const Selftest& s);
/// "163 faults, 163 killed, ...": one line behind PASS or FAIL.
std::string selftest_verdict(const Selftest& s);

std::string render_selftest_terminal(const Selftest& s, const std::string& page);
/// One line per entry.
std::string render_selftest_json_lines(const Selftest& s);
std::string render_selftest_page(const Selftest& s);

}  // namespace assay
