// SPDX-License-Identifier: Apache-2.0
// Limits of the launch: sizes and addresses, and what a record says about them.
#include "accuracy/conformance/contract/limit_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "accuracy/conformance/contract/limit_trials.hpp"
#include "accuracy/conformance/deaths.hpp"
#include "accuracy/conformance/diagnosis/rules.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/fault_kind.hpp"

namespace assay::conformance {
namespace {

/// True if a record's case has rows of logits, with its own length and number of rows.
bool plain(const Record& r) {
  return !r.group.empty() && r.group != "races" && r.group != "sanitize" && r.group != "properties" &&
         r.family != kProbeFamily && r.V > 0 && r.rows > 0;
}

bool passes(const Record& r) { return r.status == Status::pass; }
/// True if it ran and was not refused, whether its outputs are right or wrong.
bool taken(const Record& r) { return passes(r) || (fails(r) && !says_no(r)); }

bool of_addresses(const Record& r) {
  return r.group == "layout" || r.group == "families" || r.group == "calls" || r.group == "streams" ||
         r.group == "batch";
}

/// The largest `alignment` that may be declared, and the alignment of an allocator.
constexpr std::int64_t kMostAlignment = 256;

/// The limit that rows must start at multiples of more bytes than the element size.
std::vector<FoundLimit> alignment_limit(const Variant& v, const std::vector<Record>& records) {
  const auto element = static_cast<std::int64_t>(std::max(size_of(v.dtype), size_of(v.out())));
  const auto off = [](const Record& r, std::int64_t bytes) {
    return base_of(r) % bytes != 0 || (r.rows > 1 && pitch_of(r) % bytes != 0);
  };
  const Record* first = nullptr;
  bool moved = false;
  std::vector<const Record*> refused;
  for (const Record& r : records) {
    if (!plain(r) || !fails(r) || !says_no(r)) continue;
    const bool misaligned = cause_of(r) == FaultKind::misaligned;
    const bool offset = r.group == "layout" && base_of(r) != 0;
    // The same rows pass at an aligned address, so the address is the cause.
    const bool aligned_passes =
        offset && std::any_of(records.begin(), records.end(), [&](const Record& o) {
          return o.group == "layout" && base_of(o) == 0 && o.V == r.V && o.rows == r.rows && passes(o);
        });
    if (!misaligned && !aligned_passes) continue;
    refused.push_back(&r);
    if (offset && !moved) moved = true, first = &r;
    if (!first) first = &r;
  }
  for (std::int64_t bytes = 2 * element; bytes <= kMostAlignment && first; bytes *= 2) {
    if (!std::all_of(refused.begin(), refused.end(), [&](const Record* r) { return off(*r, bytes); }))
      continue;
    // Aligned cases pass, so the address is the cause.
    if (std::none_of(
            records.begin(), records.end(),
            [&](const Record& r) { return plain(r) && of_addresses(r) && passes(r) && !off(r, bytes); }) &&
        std::none_of(records.begin(), records.end(),
                     [&](const Record& r) { return plain(r) && r.group == "shapes" && passes(r); }))
      return {};
    // Silently wrong outputs at such an address are a fault, which the limit must not hide.
    if (std::any_of(records.begin(), records.end(), [&](const Record& r) {
          return plain(r) && r.group == "layout" && fails(r) && !says_no(r) && base_of(r) % bytes != 0;
        }))
      return {};
    const std::int64_t base = base_of(*first);
    return {{fmt::format("alignment={}", bytes),
             base % bytes != 0
                 ? fmt::format("rows that start {} bytes off: {}", base % bytes, what_it_said(*first))
                 : fmt::format("rows {} bytes apart: {}", pitch_of(*first), what_it_said(*first))}};
  }
  return {};
}

std::vector<FoundLimit> pitch_limit(const std::vector<Record>& records) {
  const Record* first = nullptr;
  bool dense = false;
  for (const Record& r : records) {
    if (r.group != "layout") continue;
    if (r.setup.gap() > 0) {
      // Not refused there: then it is no limit.
      if (taken(r)) return {};
      if (fails(r) && says_no(r) && !first) first = &r;
    } else {
      dense = dense || passes(r);
    }
  }
  if (!first || !dense) return {};
  return {{"dense=yes", fmt::format("a pitch that is not V: {}", what_it_said(*first))}};
}

/// True for an illegal address in a launch with more elements than a 31-bit or 32-bit index can count. The
/// machine ended the launch, so nobody got a result. Wrong outputs that come back are a fault there as
/// anywhere.
bool index_wrapped(const Record& r) {
  return r.group == "big" && r.rows * r.V > INT32_MAX && r.status == Status::crashed &&
         cause_of(r) == FaultKind::wild_access;
}

/// The limit on the number of elements, rows x V, where V is the row length.
std::vector<FoundLimit> elements_limit(const std::vector<Record>& records) {
  std::int64_t good = 0, bad = 0, silent = 0;
  const Record* first = nullptr;
  for (const Record& r : records) {
    if (!plain(r)) continue;
    const std::int64_t n = r.rows * r.V;
    if (passes(r)) good = std::max(good, n);
    const bool of_size = r.group == "big" || r.group == "rows" || r.group == "shapes";
    if (!of_size || !fails(r)) continue;
    const bool no = says_no(r) || index_wrapped(r);
    if (!no) silent = silent ? std::min(silent, n) : n;
    if (no && (!first || n < bad)) first = &r, bad = n;
  }
  // Wrong outputs below the refused size are a finding.
  if (!first || bad <= good || good == 0 || (silent && silent <= bad)) return {};
  // The limit is the largest launch that was seen to pass. For an index that wraps, it is the size where it
  // wraps: the run under that limit has a launch that just fits (plan_big).
  std::int64_t most = good;
  if (index_wrapped(*first))
    for (const int bits : {31, 32})
      if (const std::int64_t edge = std::int64_t{1} << bits; good < edge && edge <= bad) most = edge - 1;
  return {{fmt::format("max_elements={}", most),
           fmt::format("{} rows of {}: {}", first->rows, first->V, what_it_said(*first))}};
}

}  // namespace

bool fails(const Record& r) {
  return r.status == Status::fail || r.status == Status::crashed || r.status == Status::hung;
}

bool certainly_wrong(const Variant& v, const Record& r) {
  // With these maxima the sum is at least 1, whether or not a maximum is subtracted. So the largest epsilon
  // that is looked for, 1e-2, makes an output 1 % smaller. The rest is for an approximate exp (1e-4 at these
  // distances) and for exps that are stored in the outputs' type: each is half a unit off, and so is their
  // sum.
  constexpr double kMost = 1.5e-2, kUnits = 16, kLowest = 0, kHighest = 20;
  const CheckResult* const element = find_check(r, Check::element);
  if (r.status != Status::fail || !element || element->failed == 0 || !r.worst || decided_by_values(r) ||
      says_no(r) || find_check(r, Check::property) || r.family == kProbeFamily)
    return false;
  if (!r.highest_maximum || *r.highest_maximum > kHighest || *r.lowest_maximum < kLowest) return false;
  const double exact = 0.5 * (r.worst->exact_lo + r.worst->exact_hi);
  const double size = r.op == name(Op::log_softmax) || r.op == name(Op::lse) ? 1 + std::fabs(exact) : exact;
  const double allowed =
      std::max(kMost, kUnits * unit_roundoff(v.out())) * size + kUnits * ulp(v.out(), exact);
  // Far below the maximum a kernel may flush to 0.
  return std::isfinite(exact) && size > kMost / static_cast<double>(r.V) &&
         !(std::fabs(r.worst->got - exact) <= allowed);
}

std::string what_it_said(const Record& r) {
  const CheckResult* const check = first_failed(r);
  return what_it_said(cause_of(r), check ? check->detail : r.reason);
}

std::string what_it_said(FaultKind cause, std::string said) {
  said = said.substr(0, said.find('\n'));
  if (said.size() > 120) said = said.substr(0, 117) + "...";
  const char* const how = cause == FaultKind::misaligned || cause == FaultKind::wild_access ? "crashes"
                          : cause == FaultKind::died ? "ends the process"
                          : cause == FaultKind::trap ? "traps"
                                                     : "is an error";
  return fmt::format("{} ({})", how, said);
}

std::vector<FoundLimit> next_limits(const Variant& variant, const std::vector<Record>& records,
                                    const std::function<bool(const char* word)>& may) {
  Trials trials(variant, records);
  std::vector<FoundLimit> found = rows_limits(trials, records, may);
  for (FoundLimit& f : length_limits(trials, records, may)) found.push_back(std::move(f));
  // An address is refused at every size, and each round that tries the sizes costs many processes.
  if (may("alignment"))
    for (FoundLimit& f : alignment_limit(variant, records)) found.push_back(std::move(f));
  if (!found.empty()) return found;
  if (may("dense"))
    if (found = pitch_limit(records); !found.empty()) return found;
  if (found = k_limits(trials, variant, records, may); !found.empty()) return found;
  // This limit comes last, because every other limit shows in large problems too.
  if (may("max_elements") && !trials.squares()) return elements_limit(records);
  return {};
}

}  // namespace assay::conformance
