// SPDX-License-Identifier: Apache-2.0
// The properties of properties/ as a group of `assay check`: a few dozen random cases each, from a fixed
// seed.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>

#include "accuracy/conformance/bench.hpp"
#include "kernels/fault_kind.hpp"
#include "properties/variants/variant_properties.hpp"
#include "reports/cli/check/groups.hpp"

namespace assay {
namespace {

using conformance::Bench;
using conformance::ConformanceCase;

constexpr const char* kFamily = "property";

/// Tells the bench how every launch ended. A property itself sees only that it failed.
class CountingLauncher final : public Launcher {
 public:
  CountingLauncher(std::shared_ptr<Launcher> inner, const Bench& bench)
      : inner_(std::move(inner)), bench_(bench) {}

  LaunchOutcome launch(const Variant& v, const Problem& p, Images& images, const LaunchOptions& o) override {
    const auto begin = std::chrono::steady_clock::now();
    LaunchOutcome outcome = inner_->launch(v, p, images, o);
    bench_.count(outcome, std::chrono::steady_clock::now() - begin);
    worst_ = std::max(worst_, outcome.ended);
    if (kind_ == FaultKind::none) kind_ = outcome.kind;
    return outcome;
  }
  std::array<LaunchOutcome, 2> launch_both(const Variant& v, const Problem& p, std::array<Images*, 2> images,
                                           const LaunchOptions& o) override {
    return inner_->launch_both(v, p, images, o);
  }
  std::string cannot(const LaunchOptions& o) const override { return inner_->cannot(o); }
  bool on_device() const override { return inner_->on_device(); }
  void restart() override { inner_->restart(); }
  Ended worst() const { return worst_; }
  FaultKind kind() const { return kind_; }

 private:
  std::shared_ptr<Launcher> inner_;
  const Bench& bench_;
  Ended worst_ = Ended::normally;
  FaultKind kind_ = FaultKind::none;  // of the first launch that failed
};

/// Properties generate any length, pitch, address and value, so they need a kernel without limits on these.
std::string limited(const Variant& v) {
  const Limits& l = v.limits;
  if (l.max_V > 0 && l.max_V < 4096) return fmt::format("max_V = {}, properties draw longer rows", l.max_V);
  if (l.min_V > 1) return fmt::format("min_V = {}, properties draw shorter rows", l.min_V);
  if (l.V_in.count > 0) return "V_in: properties draw any V";
  if (l.rows_multiple > 1) return "rows_multiple: properties launch any number of rows";
  if (l.max_rows > 0 && l.max_rows < 4096)
    return fmt::format("max_rows = {}, properties launch more", l.max_rows);
  if (l.max_elements > 0 && l.max_elements < std::int64_t{1} << 24)
    return fmt::format("max_elements = {}, properties launch more", l.max_elements);
  if (l.max_abs > 0) return fmt::format("max_abs = {:g}, properties draw any value", l.max_abs);
  if (l.min_rows > 1) return fmt::format("min_rows = {}, properties launch fewer", l.min_rows);
  if (l.V_multiple > 1) return "properties draw any V";
  if (l.alignment > static_cast<std::int64_t>(size_of(v.dtype))) return "properties draw any alignment";
  if (l.finite) return "properties draw -inf, +inf and NaN";
  return {};
}

void run_property(Bench& bench, const VariantProperty& property, const ConformanceCase& c) {
  Variant v = bench.variant();
  if (const std::string why = limited(v); !why.empty()) {
    bench.emit(0, bench.unsupported(c, obstacle(Why::domain, why)));
    return;
  }
  std::shared_ptr<CountingLauncher> counted;
  if (v.launcher) v.launcher = counted = std::make_shared<CountingLauncher>(v.launcher, bench);
  VariantProperty few = property;
  few.cases = std::min(property.cases, bench.options().extent == conformance::Extent::quick ? 25 : 100);
  few.must_appear.clear();  // with few cases, missing coverage says nothing about the kernel
  const Outcome outcome = outcome_of(few, {&v}, v.key(), false);
  Record r = bench.blank(c);
  r.rows_judged = few.cases;
  conformance::require(r, Check::property, outcome.failure.empty(), outcome.failure,
                       counted ? counted->kind() : FaultKind::none);
  if (!outcome.failure.empty() && counted && counted->worst() >= Ended::crashed) {
    r.status = counted->worst() == Ended::hung ? Status::hung : Status::crashed;
    r.reason = outcome.failure;
  }
  conformance::settle(r);
  bench.emit(0, std::move(r));
}

std::vector<conformance::Unit> plan_properties(const conformance::Planning& p) {
  std::vector<conformance::Unit> units;
  // Properties generate rows of logits only.
  if (!not_plain_rows(p.variant, p.variant.op).empty()) return units;
  for (const VariantProperty& property : variant_properties()) {
    if (!property.applies(p.variant)) continue;
    conformance::Unit u;
    u.cases.push_back({kFamily, 0, 0, p.variant.op, 0, property.name});
    u.run = [&property](Bench& bench, const std::vector<ConformanceCase>& cases) {
      run_property(bench, property, cases[0]);
    };
    u.weight = 2e6;
    u.exclusive = true;  // the random generator is global to the process
    units.push_back(std::move(u));
  }
  return units;
}

}  // namespace

conformance::Group properties_group() {
  return {"properties", "Random rows and their images: shifted, permuted, split, among others.",
          plan_properties, false, conformance::Stage::later};
}

void seed_properties(std::uint64_t seed) {
  if (setenv("RC_PARAMS", fmt::format("seed={}", seed).c_str(), 0) != 0) return;
  if (std::getenv("RC_PARAMS") != fmt::format("seed={}", seed)) return;
  std::ostringstream nobody;
  std::streambuf* const stderr_of_all = std::cerr.rdbuf(nobody.rdbuf());
  rc::detail::configuration();
  std::cerr.rdbuf(stderr_of_all);
}

}  // namespace assay
