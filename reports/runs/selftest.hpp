// SPDX-License-Identifier: Apache-2.0
// Tests the tester. Every kernel with a planted fault and every cheat must be refused by the check that its
// entry names; every right kernel must be accepted. Also: which of them the rules of other projects accept.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/selftest/mutant_judge.hpp"
#include "reference/fields.hpp"
#include "reports/records/store.hpp"

namespace assay {

inline constexpr std::size_t kPeerRules = 3;

/// The result of one entry, here and by the rules of other projects.
struct SelftestEntry : MutantVerdict {
  /// Whether each peer's rule accepts the kernel: on inputs as such tests draw them, and on this project's.
  /// No meaning if peers_ran is false.
  bool peers_ran = false;
  std::array<bool, kPeerRules> usual{}, killing{};
};

template <IsA<SelftestEntry> E, class Visit>
void each_field(E& e, Visit& visit) {
  visit("ran", e.ran);
  visit("refused", e.refused);
  visit("cases", e.cases);
  visit("failed", e.failed);
  visit("detail", e.detail);
  visit("reproduce", e.reproduce);
  visit("peers_ran", e.peers_ran);
  visit("usual", e.usual);
  visit("killing", e.killing);
}

/// "M17 sum_skips_tail/f32@host": the same in every build that has the entry.
std::string identity(const SelftestEntry& e);
/// A pass if the entry was refused, or accepted, as it should be.
Status outcome(const SelftestEntry& e);
/// As a line of selftest.jsonl has it.
template <>
nlohmann::json fact_to_json(const SelftestEntry& e);
/// Throws InputError, also if this build does not know the entry.
template <>
SelftestEntry fact_from_json(const nlohmann::json& j);

/// The entries with this fault, id or key, or all if it is empty. Throws InputError if there is none.
std::vector<const Mutant*> selftest_entries(const std::string& name);
/// Judges one entry, also by the rules of other projects on so many rows.
SelftestEntry judge_entry(const Mutant& mutant, MutantInputs& inputs, std::int64_t peer_rows);

struct Selftest {
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<SelftestEntry> entries = {};
  std::int64_t peer_rows = 0;
  double seconds = 0;
  std::string part = {};  // "part 0 of 8" if this is one part of a run (--shard)
};

struct SelftestCounts {
  std::int64_t faults = 0, killed = 0, by_name = 0, survived = 0;
  std::int64_t cheats = 0, cheats_refused = 0;
  std::int64_t right = 0, accepted = 0;
  std::int64_t not_run = 0;
  std::int64_t compared = 0;  // number of faults and cheats that the peers' rules judged
  std::array<std::int64_t, kPeerRules> pass_usual{}, pass_killing{};
};

SelftestCounts count(const Selftest& s);
/// True if something ran, and all that ran was as expected. Of one part of a run it is enough that nothing
/// was not: merge asks whether anything ran.
bool selftest_passed(const Selftest& s);
/// "PASS" or "FAIL"; "NOT RUN" of a part in which nothing ran.
const char* selftest_word(const Selftest& s);
/// "163 faults, 163 killed, ...": the line after PASS or FAIL.
std::string selftest_verdict(const Selftest& s);

std::string render_selftest_terminal(const Selftest& s, const std::string& page);
/// One line per entry. The first one has what the page says beside them.
std::string render_selftest_json_lines(const Selftest& s);
/// Reads what render_selftest_json_lines wrote, also the lines of several parts behind each other. The
/// entries are in the order of mutants(). Throws InputError that names the file and the line, also if this
/// build does not know an entry.
Selftest read_selftest(const std::filesystem::path& file);
std::string render_selftest_page(const Selftest& s);

}  // namespace assay
