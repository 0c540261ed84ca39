// SPDX-License-Identifier: Apache-2.0
#include "accuracy/selftest/mutant_judge.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/record.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reference/error.hpp"

namespace assay {
namespace {

// Entries whose fault shows in no single case. They run in a worker process, through the group of `assay
// check` that the entry names.

/// The records of the group. Empty if the group cannot run here; then `reason` says why.
std::vector<Record> run_group(const Mutant& m, std::string& reason) {
  const Expect& e = m.expect;
  const auto all = conformance::groups();
  if (std::none_of(all.begin(), all.end(),
                   [&](const conformance::Group& g) { return g.name == std::string_view(e.group); })) {
    reason = std::string("no group ") + e.group;
    return {};
  }
  conformance::ConformanceOptions options;
  options.only = {e.group};
  options.extent = conformance::Extent::quick;
  options.narrow.setup = e.setup;
  if (e.rows > 0) options.narrow.rows = e.rows, options.narrow.V = e.V;
  options.threads = 1;
  try {
    // A machine that runs every entry at once is slow. Other entries test whether a hang is found.
    IsolationOptions patient;
    patient.timeout_seconds = 120;
    return conformance::run_conformance([&] { return isolated(m.variant, patient); }, options).records;
  } catch (const InputError& error) {
    reason = error.what();
    return {};
  }
}

void take(MutantVerdict& v, const Record& r) {
  if (r.status == Status::not_run || r.status == Status::unsupported) {
    if (!v.ran) v.detail = r.reason;
    return;
  }
  if (!v.ran) v.detail.clear();
  v.ran = true;
  ++v.cases;
  if (r.status == Status::pass) return;
  const bool first = !v.refused;
  v.refused = true;
  bool named = false;
  std::string detail = r.reason;
  for (const CheckResult& c : r.checks) {
    if (c.failed == 0) continue;
    const std::string check = name(c.check);
    const bool is_named = check == v.mutant->expect.check;
    if (detail == r.reason || is_named) detail = check + ": " + c.detail;
    if (std::find(v.failed.begin(), v.failed.end(), check) != v.failed.end()) continue;
    named = named || is_named;
    v.failed.push_back(check);
  }
  if (first || named) {
    v.detail = r.family + ", V = " + std::to_string(r.V) + ": " + detail;
    v.reproduce = r.reproduce;
  }
}

void judge_right(MutantVerdict& v, const Variant& variant, MutantInputs& inputs) {
  for (const Family& family : families())
    for (const std::int64_t V : inputs.sizes_of_right_kernels()) {
      if (!applies(family, variant.dtype, V)) continue;
      const std::int64_t rows = std::max<std::int64_t>(3, report_rows(family, variant.dtype, V, false));
      Pick pick = v.mutant->expect.pick;
      pick.k = std::min(pick.k, std::max(1, variant.max_k));
      take(v, check_case(variant, inputs.of(family.name, variant.dtype, V, rows), variant.op, pick));
    }
}

}  // namespace

bool MutantVerdict::by_named_check() const {
  return std::any_of(failed.begin(), failed.end(), [this](const auto& check) {
    return check == mutant->expect.check || check == mutant->expect.or_check;
  });
}

const Case& MutantInputs::of(const char* family, Dtype dtype, std::int64_t V, std::int64_t rows) {
  Slot* slot = nullptr;
  {
    const std::lock_guard<std::mutex> guard(lock_);
    std::unique_ptr<Slot>& s = slots_[{family, dtype, V, rows}];
    if (!s) s = std::make_unique<Slot>();
    slot = s.get();
  }
  std::call_once(slot->once,
                 [&] { slot->made = std::make_unique<Case>(family_named(family), dtype, V, rows, 1); });
  return *slot->made;
}

std::vector<std::int64_t> MutantInputs::sizes_of_right_kernels() const {
  if (quick_) return {1, 33, 1025};
  return {1, 2, 33, 129, 1025, 4099};
}

std::int64_t mutant_rows(const Mutant& m) {
  if (m.expect.rows > 0) return m.expect.rows;
  // A probe has its own rows, and the right kernels have many families.
  const Family* family = find_family(m.expect.family);
  const std::int64_t rows = family ? report_rows(*family, m.variant.dtype, m.expect.V, false) : 1;
  return std::max<std::int64_t>(3, rows);
}

MutantVerdict judge_mutant(const Mutant& m, MutantInputs& inputs) {
  MutantVerdict v;
  v.mutant = &m;
  v.detail = m.missing ? m.missing() : unavailable_reason(m.variant.backend);
  if (!v.detail.empty()) return v;
  // On a device, a planted fault may end its process's CUDA context.
  const Variant variant =
      m.variant.backend == Backend::cuda && m.single_case() ? isolated(m.variant) : m.variant;
  if (!m.single_case()) {
    for (const Record& r : run_group(m, v.detail)) take(v, r);
  } else if (m.expect.family == std::string_view(kProbeFamily)) {
    take(v, probe_record(variant, behaviour_of(variant)));
  } else if (m.expect.family == std::string_view()) {
    judge_right(v, variant, inputs);
  } else {
    take(v, check_case(variant, inputs.of(m.expect.family, variant.dtype, m.expect.V, mutant_rows(m)),
                       variant.op, m.expect.pick));
  }
  return v;
}

}  // namespace assay
