// SPDX-License-Identifier: Apache-2.0
// Probes of lse and log-softmax. Their sum shows only through a logarithm, so it is judged as on any row. The
// rows are those that leave a claim the least room.
#include <fmt/format.h>

#include <cmath>

#include "accuracy/probes/probe_rows.hpp"
#include "accuracy/verdict/checker.hpp"

namespace assay {
namespace {

using namespace probe;

/// Runs the variant on these rows as a separate case. The claim is refuted if any check fails.
void judge_rows(const Variant& v, const char* what, Tensor rows, Observation& o) {
  const std::int64_t V = rows.V;
  const Record r = check_case(v, Case(what, std::move(rows)), v.op, 0);
  double share = 0;
  for (const CheckResult& c : r.checks) {
    o.judged += c.judged;
    share = std::max(share, c.utilisation);
    if (c.failed > 0) o.refute(fmt::format("{}: {} fails: {}", what, name(c.check), c.detail));
  }
  o.saw += fmt::format("{}{} at V = {} use {:.2f} of the bound", o.saw.empty() ? "" : "; ", what, V, share);
}

}  // namespace

void probe_logs(const Variant& v, std::vector<Observation>& out) {
  Observation accumulator{.probe = "accumulator"}, height{.probe = "height"}, order{.probe = "order"};
  for (std::int64_t V : {259, 2051, 4099, 131071})
    judge_rows(v, "equal logits", Tensor(v.dtype, 1, V), accumulator);
  const Terms terms = terms_of(v.claim, v.backend, v.out(), 1);
  for (std::int64_t V : {1025, 16385}) {
    const double below = -next_up(v.dtype, round_to(v.dtype, -std::log(terms.u)));
    Tensor rows(v.dtype, 2, V);
    for (std::int64_t j = 0; j < V; ++j) {
      rows.set(0, j, j == 0 ? 0 : below);
      rows.set(1, j, j == V - 1 ? 0 : below);
    }
    judge_rows(v, "logits of half an ulp around a 0", std::move(rows), height);
  }
  for (std::int64_t V : {std::int64_t{4099}, std::int64_t{16385}, kProbeV}) {
    Tensor rows(v.dtype, std::ssize(kBelowHalfUlp), V);
    for (std::int64_t r = 0; r < rows.rows; ++r)
      for (std::int64_t j = 0; j < V; ++j)
        rows.set(r, j, j == V / 2 ? 0 : std::log(terms.u) - kBelowHalfUlp[r]);
    judge_rows(v, "many logits far below a 0", std::move(rows), height);
  }
  constexpr std::int64_t kRamp = 16384;
  Tensor ramps(v.dtype, 2, kRamp);
  for (std::int64_t j = 0; j < kRamp; ++j) {
    ramps.set(0, j, 3 * static_cast<double>(j) / static_cast<double>(kRamp));
    ramps.set(1, kRamp - 1 - j, 3 * static_cast<double>(j) / static_cast<double>(kRamp));
  }
  judge_rows(v, "ramps up and down", std::move(ramps), order);
  if (accumulator.refuted == 0) accumulator.trait = fmt::format("sum like {}", name(terms.arithmetic));
  if (height.refuted == 0 && v.claim.height)
    height.trait = fmt::format("height within {} at V = 16385", v.claim.height(16385));
  if (order.refuted == 0) order.trait = fmt::format("{} or sharper", name(v.claim.algorithm));
  out.push_back(std::move(accumulator));
  out.push_back(std::move(height));
  out.push_back(std::move(order));
  out.push_back({.probe = "arithmetic", .skipped = "a logarithm hides the exp, and nothing is divided"});
}

}  // namespace assay
