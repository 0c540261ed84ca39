// Kernels with one planted fault each, the right kernels they are told apart from, and kernels that cheat.
// The suite must refuse every fault and every cheat, for the reason the entry names, and accept every right
// kernel: `assay selftest` prints the matrix. They are no part of the registry: no command but selftest, and
// no report, sees them.
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

/// Where the fault must show. Groups are those of `assay check`: "families" is one case, two launches; the
/// others change what happens around a launch.
struct Expect {
  const char* family = "normal_1";  // "": every family, at every V of the list (right kernels)
  std::int64_t V = 129;
  const char* check = "";  // the check that must fail there, perhaps among others
  int k = 5;               // of top-k
  std::int64_t rows = 0;   // 0: the family's own number, at least 3
  const char* group = "families";
  const char* setup = "";  // of the group: what else the case varies
  /// "host" or "cuda" where the fault can only show there, with `why` it can not elsewhere.
  const char* only = "";
  const char* why = "";
  /// Of a right kernel by a stranger: what its author declares; "": nothing. Null: the variant's own claim.
  const char* declaration = nullptr;
  /// Claim::judgeable_rows_only, which no declaration says.
  bool judgeable_rows_only = false;
  /// Another check that may fail in its place, where the memory beside a buffer decides which.
  const char* or_check = "";
};

struct Mutant {
  Variant variant;  // its name is "mutant." and the fault's
  /// M..: number in the catalogue of faults seen in the wild; X..: a fault of our own; C..: a cheat; R..:
  /// right.
  const char* id = "";
  const char* fault = "";  // a name for what is wrong
  Kind kind = Kind::fault;
  Expect expect;
  /// Why it can not run here, asked at run time; null: as its backend.
  std::string (*missing)() = nullptr;

  bool single_case() const { return std::string_view(expect.group) == "families"; }
};

/// One entry of the catalogue: every fault of kernels that was seen in the wild or thought of.
struct CatalogueEntry {
  const char* id;
  const char* what;     // what the kernel does wrong, one clause
  const char* missing;  // empty where it is planted, else why no kernel here can carry it
};
std::span<const CatalogueEntry> catalogue();
/// What the entry of this id says; empty for an unknown id.
const char* what_of(std::string_view id);

/// All that were linked in, in order of backend, id and name.
const std::vector<Mutant>& mutants();
/// By fault's name on the host.
const Mutant* find_mutant_of(std::string_view fault);
/// By key, "mutant.no_rescale/f32@host"; null where there is none.
const Variant* find_mutant(std::string_view key);
/// Names the variant after the fault, and takes the kind from the id's letter.
bool register_mutant(Mutant m);

}  // namespace assay
