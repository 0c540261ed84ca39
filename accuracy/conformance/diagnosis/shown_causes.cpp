// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/diagnosis/shown_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <set>
#include <tuple>

#include "reference/problem.hpp"

namespace assay::conformance {
namespace {

/// True for "a read at byte 12 of the logits, which have 12", in front of memory that is not there.
bool reads_beyond(const Record& r) {
  const CheckResult* const check = first_failed(r);
  if (r.status != Status::crashed || r.setup != "page_end" || !check) return false;
  constexpr const char *kAt = "a read at byte ", *kHave = " of the logits, which have ";
  const std::size_t at = check->detail.find(kAt), have = check->detail.find(kHave);
  if (at == std::string::npos || have == std::string::npos) return false;
  const auto number = [&](std::size_t from) {
    return std::strtoll(check->detail.c_str() + from, nullptr, 10);
  };
  return number(at + std::string(kAt).size()) >= number(have + std::string(kHave).size());
}

bool before(const Record* a, const Record* b) {
  return std::tuple(a->V, a->rows, a->k) < std::tuple(b->V, b->rows, b->k);
}

/// exp(x - m) is 0 in f32 below -104, and no longer exact below -87.
constexpr double kUnderflow = -87;

}  // namespace

std::string cause_of_reads_beyond(const Finding& f) {
  const Record* first = nullptr;
  std::set<std::int64_t> lengths;
  for (const Record* r : f.cases)
    if (reads_beyond(*r)) {
      lengths.insert(r->V);
      if (!first || before(r, first)) first = r;
    }
  if (!first || f.first->status == Status::crashed) return {};
  // The powers of two that whole vectors have.
  std::string where;
  for (const std::int64_t vector : {2, 4, 8, 16})
    if (where.empty() &&
        std::all_of(lengths.begin(), lengths.end(), [&](std::int64_t V) { return V % vector != 0; }))
      where = fmt::format(" where V is no multiple of {}", vector);
  const std::string& said = first_failed(*first)->detail;
  return fmt::format("elements beyond the end of a row are read{} (V = {}: {})", where, first->V,
                     said.substr(said.find("a read at byte ")));
}

const Record* underflowed_log(const Finding& f) {
  const Record* first = nullptr;
  for (const Record* r : f.cases) {
    const auto op = parse_op(r->op);
    if (!op || !log_probabilities(*op) || !r->worst || !std::isinf(r->worst->got) || r->worst->got > 0)
      continue;
    // Near the maximum no probability underflows.
    if (!std::isfinite(r->worst->exact_lo) || !(r->worst->distance < kUnderflow)) return nullptr;
    if (!first || before(r, first)) first = r;
  }
  return first;
}

std::optional<std::int64_t> first_row_unwritten(const Finding& f) {
  std::optional<std::int64_t> row;
  for (const Record* r : f.cases) {
    const CheckResult* const written = find_check(*r, Check::written);
    // "row 1024: element 0 was never written"
    if (!written || written->failed == 0 || !written->detail.starts_with("row ")) continue;
    const std::int64_t its = std::strtoll(written->detail.c_str() + 4, nullptr, 10);
    if (row && *row != its) return {};
    row = its;
  }
  return row;
}

}  // namespace assay::conformance
