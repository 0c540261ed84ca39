// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/diagnosis/shown_causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "reference/problem.hpp"

namespace assay::conformance {
namespace {

/// True if it read elements behind the logits, in front of memory that is not there.
bool reads_beyond(const Record& r) {
  const CheckResult* const check = first_failed(r);
  return r.status == Status::crashed && r.setup.kind() == SetupKind::page_end && check && check->access &&
         check->access->read && check->access->logits && check->access->byte >= check->access->size;
}

bool before(const Record* a, const Record* b) {
  return std::tuple(a->V, a->rows, a->pick()) < std::tuple(b->V, b->rows, b->pick());
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
  const BufferAccess& at = *first_failed(*first)->access;
  return fmt::format(
      "elements beyond the end of a row are read{} (V = {}: a read at byte {} of the logits, which have {})",
      where, first->V, at.byte, at.size);
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
    if (!written || written->failed == 0 || !written->row) continue;
    if (row && *row != *written->row) return {};
    row = written->row;
  }
  return row;
}

}  // namespace assay::conformance
