// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/new_cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "accuracy/conformance/groups/groups.hpp"
#include "accuracy/conformance/inputs.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
namespace {

constexpr const char* kDrawnFamily = "normal_1";

/// False for a family whose rows are the same for every seed.
bool depends_on_seed(const std::string& family, std::uint64_t seed) {
  constexpr std::int64_t kRows = 4, kLength = 64;
  const auto rows = [&](std::uint64_t s) {
    return conformance::make_rows(family, Dtype::f32, kLength, kRows, s).bytes;
  };
  return rows(seed) != rows(seed + 1);
}

/// A length from half of V to twice V that the kernel takes.
std::int64_t drawn_length(const CertifiedCase& like, std::size_t number, std::uint64_t seed,
                          const Variant& v) {
  std::mt19937_64 random(seed + 0x9e3779b97f4a7c15u * (number + 1));
  const std::int64_t low = std::max<std::int64_t>({1, like.V / 2, selects(v.op) ? like.k : 1});
  const std::int64_t high = std::max(low, std::min(2 * like.V, like.V + (1 << 16)));
  const auto V = low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  return conformance::nearest_V(v, V, like.rows);
}

}  // namespace

std::optional<Record> new_case(const CertifiedCase& like, std::size_t number, std::uint64_t seed,
                               const Certificate& c, const CaseRunner& place) {
  CertifiedCase drawn = like;
  drawn.seed = seed;
  const bool probe = like.family == kProbeFamily;
  if (!probe && find_family(like.family) && !depends_on_seed(like.family, seed)) drawn.family = kDrawnFamily;
  CertifiedCase longer = drawn;
  if (!probe && like.V > 0) longer.V = drawn_length(like, number, seed, place.variant(like.key));
  CertifiedCase as_it_was = like;
  as_it_was.seed = seed;
  for (const CertifiedCase& one : {number % 2 == 1 ? longer : drawn, drawn, as_it_was}) try {
      return place.run(one, c);
    } catch (const InputError&) {
      // The group has no such case.
    }
  return {};
}

bool is_wrong(const Record& r) {
  return r.status == Status::fail || r.status == Status::crashed || r.status == Status::hung;
}

std::string why_wrong(const Record& r) {
  const CheckResult* const check = first_failed(r);
  const std::string what = fmt::format("{} {} {} V={} rows={}", r.key, r.group, r.family, r.V, r.rows);
  if (!check) return fmt::format("{}: {}: {}", what, name(r.status), r.reason);
  return fmt::format("{}: {}{}{}", what, name(check->check), check->detail.empty() ? "" : ": ",
                     check->detail);
}

}  // namespace assay
