// SPDX-License-Identifier: Apache-2.0
// Three kinds of kernels: mutants with one planted fault each, cheats, and the right kernels to tell them
// from. The suite must refuse every fault and every cheat, for the reason that its entry names, and accept
// every right kernel; `assay selftest` prints the matrix. They are not in the registry: no other command and
// no report sees them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/registry.hpp"

namespace assay {

enum class Kind { fault, cheat, right };
constexpr const char* name(Kind k) {
  return k == Kind::fault ? "fault" : k == Kind::cheat ? "cheat" : "right";
}

/// The name of no check: a verdict is inconclusive because a measured sum is no proof.
inline constexpr const char* kBeyondMeasured = "beyond_measured";

/// Where the fault must show. Groups are those of `assay check`. "families" is one case, two launches; the
/// other groups change what happens around a launch.
struct Expect {
  const char* family = "normal_1";  // "": every family at every listed V (right kernels)
  std::int64_t V = 129;
  const char* check = "";  // the check that must fail there; others may fail too
  Pick pick = 5;           // for top-k; of min_p and top_p the threshold
  std::int64_t rows = 0;   // 0: the family's own number of rows, at least 3
  const char* group = "families";
  const char* setup = "";  // of the group: what else the case varies
  /// "host" or "cuda" if the fault can show only there; `why` says why.
  const char* only = "";
  const char* why = "";
  /// For a right external kernel: what its author declares; "" for nothing. Null: the variant's own claim.
  const char* declaration = nullptr;
  /// Claim::judgeable_rows_only, for which a declaration has no word.
  bool judgeable_rows_only = false;
  /// Another check that may fail instead, if that depends on the memory beside a buffer, or on
  /// what the output held before.
  const char* or_check = "";
};

struct Mutant {
  Variant variant;  // its name is "mutant." and the name of the fault
  /// M..: number in the catalogue of faults seen in the wild. X..: a fault invented here. C..: a cheat. R..:
  /// a right kernel.
  const char* id = "";
  const char* fault = "";  // a name for what is wrong
  Kind kind = Kind::fault;
  Expect expect;
  /// Returns why it cannot run here, asked at run time. Null: the backend decides.
  std::string (*missing)() = nullptr;

  bool single_case() const { return std::string_view(expect.group) == "families"; }
};

/// One entry of the catalogue: each fault of a kernel that was seen in the wild or thought of.
struct CatalogueEntry {
  const char* id;
  const char* what;     // what the kernel does wrong, one clause
  const char* missing;  // empty if the fault is planted, otherwise why no kernel here can have it
};
std::span<const CatalogueEntry> catalogue();
/// The text `what` of the entry with this id; empty for an unknown id.
const char* what_of(std::string_view id);

/// All mutants that were linked in, sorted by backend, id and name.
const std::vector<Mutant>& mutants();
/// Finds a host mutant by the name of its fault.
const Mutant* find_mutant_of(std::string_view fault);
/// Finds a mutant by key, such as "mutant.no_rescale/f32@host"; null if there is none.
const Variant* find_mutant(std::string_view key);
/// Names the variant after the fault, and derives the kind from the first letter of the id.
bool register_mutant(Mutant m);

}  // namespace assay
