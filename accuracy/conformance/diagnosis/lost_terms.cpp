// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/diagnosis/lost_terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>

#include "reference/formats.hpp"
#include "reference/problem.hpp"

namespace assay::conformance {
namespace {

/// Fewer lengths may agree by chance.
constexpr std::size_t kFewestThatAgree = 4;

/// Longer rows tell nothing: the stored output is rounded, and 1/output must still be known to a tenth of a
/// term. A division in f32 is off by 2 ulp at most, so 4u in all; and a sum of ones is exact to far longer
/// rows.
std::int64_t longest_told(const Record& r) {
  const std::size_t colon = r.dtype.find(':');
  const auto out = parse_dtype(colon == r.dtype.npos ? r.dtype : r.dtype.substr(colon + 1));
  if (!out) return 0;
  const double u = std::ldexp(1.0, -format(*out).precision);
  return std::min<std::int64_t>(4096, static_cast<std::int64_t>(0.1 / (4 * u)));
}

/// True for a plain case of equal logits whose output tells the number of terms in the sum.
bool tells(const Record& r) {
  return r.family == "constant" && r.setup.empty() && (r.group == "shapes" || r.group == "families") &&
         (r.op == name(Op::softmax) || r.op == name(Op::log_softmax)) && r.V >= 2 && r.V <= longest_told(r);
}

/// The terms that are missing in the sum of V equal logits; negative if there are too many. Empty if it is no
/// whole number.
std::optional<std::int64_t> missing(const Record& r) {
  if (!r.worst) return {};
  const double got = r.worst->got;
  const double d = r.op == name(Op::softmax) ? 1 / got : std::exp(-got);
  const double lost = static_cast<double>(r.V) - d, whole = std::round(lost);
  if (!(std::abs(lost - whole) <= 0.1)) return {};
  return static_cast<std::int64_t>(whole);
}

}  // namespace

std::string cause_of_lost_terms(const Cases& bad, const Cases& good) {
  std::optional<std::int64_t> lost;
  std::set<std::int64_t> lengths;
  std::int64_t agree = 0, all = 0;
  // A passing case agrees too: in a long row, one term may be within the bound.
  for (const Cases* cases : {&bad, &good})
    for (const Record* r : *cases) {
      if (!tells(*r)) continue;
      ++all;
      const auto its = missing(*r);
      if (!lost) lost = its;
      if (!its || its != lost) continue;
      ++agree;
      if (cases == &bad) lengths.insert(r->V);
    }
  if (!lost || *lost == 0 || lengths.size() < kFewestThatAgree || 10 * agree < 9 * all) return {};
  const std::int64_t n = std::abs(*lost);
  if (*lost > 0)
    return fmt::format(
        "{} left out of the sum of every row, as the last column may be: V equal logits give "
        "d = V - {}",
        n == 1 ? "one element is" : fmt::format("{} elements are", n), n);
  return fmt::format("the sum of every row has {} too many: V equal logits give d = V + {}",
                     n == 1 ? "one term" : fmt::format("{} terms", n), n);
}

}  // namespace assay::conformance
