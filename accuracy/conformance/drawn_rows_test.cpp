// The bits of every input family: a record names (family, dtype, V, rows, seed) and nothing else, so a row
// may never change. The hashes in drawn_rows.txt were made when the family was added.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "accuracy/conformance/inputs.hpp"

namespace assay::conformance {
namespace {

constexpr Dtype kTypes[] = {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64};
constexpr std::int64_t kLengths[] = {1, 2, 33, 129, 512, 1025, 4099, 8200, 32000, 70001};
constexpr std::uint64_t kSeeds[] = {0, 1, 7};

/// FNV-1a, continued.
std::uint64_t hashed(std::uint64_t h, const Tensor& t) {
  for (const std::byte b : t.bytes) h = (h ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
  return h;
}

/// Every row that any command draws of short rows, and three of the long ones.
std::int64_t rows_of_length(std::int64_t V) { return V <= 129 ? 70 : V <= 1025 ? 40 : V <= 4099 ? 3 : 1; }

std::uint64_t hash_of(const std::string& family, Dtype dtype) {
  std::uint64_t h = 0xcbf29ce484222325;
  const Family* const known = find_family(family);
  for (const std::int64_t V : kLengths)
    for (const std::uint64_t seed : kSeeds)
      if (!known || applies(*known, dtype, V))
        h = hashed(h, make_rows(family, dtype, V, rows_of_length(V), seed));
  return h;
}

/// "family dtype hash" a line.
std::map<std::pair<std::string, std::string>, std::string> recorded() {
  std::ifstream in(ASSAY_SOURCE_DIR "/accuracy/conformance/drawn_rows.txt");
  std::map<std::pair<std::string, std::string>, std::string> all;
  for (std::string family, dtype, hash; in >> family >> dtype >> hash;) all[{family, dtype}] = hash;
  return all;
}

TEST(DrawnRows, AreTheBitsThatTheyAlwaysWere) {
  const auto all = recorded();
  EXPECT_GE(all.size(), 43u * std::size(kTypes)) << "families that were there once";
  for (const Dtype dtype : kTypes)
    for (const auto& [of, hash] : all) {
      if (of.second != name(dtype)) continue;
      std::ostringstream is;
      is << std::hex << hash_of(of.first, dtype);
      EXPECT_EQ(is.str(), hash) << of.first << " " << of.second;
    }
}

}  // namespace
}  // namespace assay::conformance
