// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep_page/context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/registry.hpp"
#include "reference/problem.hpp"
#include "reports/data/html.hpp"

namespace assay::speed {
namespace {

bool positive(const std::optional<double>& v) { return v && std::isfinite(*v) && *v > 0; }

bool was_timed(const SweepRecord& r) { return r.role != "ceiling" && r.timed() && positive(r.median_us); }

std::string most_frequent(const std::vector<SweepRecord>& records, std::string SweepRecord::*field,
                          const std::string& backend) {
  std::map<std::string, int> seen;
  for (const SweepRecord& r : records)
    if (was_timed(r) && r.backend == backend) ++seen[r.*field];
  const auto most = std::max_element(seen.begin(), seen.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == seen.end() ? "" : most->first;
}

}  // namespace

std::string variant_of(std::string_view key) { return std::string(key.substr(0, key.find('/'))); }

std::string dtype_of(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return "";
  return std::string(key.substr(slash + 1, key.find('@', slash) - slash - 1));
}

std::string Context::behind_name(std::string_view variant, const Pick& pick) const {
  const auto op = ops.find(variant);
  return assay::behind_name(op == ops.end() ? "" : op->second, pick);
}

bool of_usual_pick(const SweepRecord& r) {
  const auto op = parse_op(r.op);
  return r.pick() == Pick() || (op && r.pick() == usual_pick(*op));
}
double share(const SweepRecord& r) {
  const std::optional<double>& s = reads_only(r) ? r.share_of_read : r.share_of_copy;
  return positive(s) ? *s : NAN;
}

double elements_per_second(const SweepRecord& r) {
  return static_cast<double>(r.rows) * static_cast<double>(r.V) / r.median_us.value_or(NAN) * 1e6;
}

std::int64_t dtype_bytes(std::string_view dtype) { return dtype == "f32" ? 4 : 2; }

Context gather(const std::vector<SweepRecord>& records, const std::vector<AccessRecord>& accesses,
               const std::vector<SplitRecord>& splits) {
  const auto any_of = [&](const char* backend) {
    return std::any_of(records.begin(), records.end(),
                       [&](const SweepRecord& r) { return r.backend == backend && was_timed(r); });
  };
  Context c{records, accesses, any_of("cuda") || !any_of("host") ? "cuda" : "host", "", {}, {}, {}, {}, {},
            {},      {}};
  c.family = most_frequent(records, &SweepRecord::family, c.backend);
  for (const SweepRecord& r : records) c.ops.try_emplace(variant_of(r.key), r.op);
  for (const Variant& v : registry()) c.ops.try_emplace(v.variant, name(v.op));
  std::set<std::pair<bool, std::string>> names;
  for (const SweepRecord& r : records) {
    if (!was_timed(r) || r.backend != c.backend || r.family != c.family) continue;
    // A wrong peer stays in the tables; a mark beside its speed says that it is wrong.
    if (r.verified == Status::fail && r.role == "variant") continue;
    c.timed.push_back(&r);
    const std::string variant = variant_of(r.key);
    names.emplace(r.role == "peer", variant);
    c.index.emplace(Context::Place{variant, r.dtype, r.rows, r.pick(), r.V}, &r);
  }
  for (const auto& [peer, name] : names) c.variants.push_back(name);
  for (const char* d : kDtypeOrder)
    if (std::any_of(c.timed.begin(), c.timed.end(), [&](const auto* r) { return r->dtype == d; }))
      c.dtypes.push_back(d);
  for (const SplitRecord& s : splits)
    if (s.verified == Status::pass && positive(s.median_us) && s.timed()) c.splits.push_back(s);
  return c;
}

const SplitRecord* Context::split(std::string_view exchange, int gpus, std::string_view dtype,
                                  std::int64_t rows, std::int64_t V) const {
  const SplitRecord* best = nullptr;
  for (const SplitRecord& s : splits)
    if (s.exchange == exchange && s.gpus == gpus && s.dtype == dtype && s.rows == rows && s.V == V &&
        variant_of(s.key) == "onepass_split_fast" && least_share(s) &&
        (!best || *s.median_us < *best->median_us))
      best = &s;
  return best;
}

const SweepRecord* Context::at(std::string_view variant, std::string_view dtype, std::int64_t rows,
                               std::int64_t V, const Pick& pick) const {
  const auto found = index.find(Place{variant, dtype, rows, pick, V});
  return found == index.end() ? nullptr : found->second;
}

std::vector<std::int64_t> Context::sizes(std::string_view variant, std::string_view dtype, std::int64_t rows,
                                         const Pick& pick) const {
  std::vector<std::int64_t> out;
  for (auto i = index.lower_bound(Place{variant, dtype, rows, pick, 0}); i != index.end(); ++i) {
    const auto& [v, d, r, its, V] = i->first;
    if (v != variant || d != dtype || r != rows || its != pick) break;
    out.push_back(V);
  }
  return out;
}

std::optional<Moved> claimed(const SweepRecord& r) {
  if (!r.claimed_loads || !r.claimed_stores) return std::nullopt;
  return Moved{static_cast<double>(*r.claimed_loads + *r.claimed_stores), false, r.V};
}

namespace {
constexpr double kNear = 0.0954;  // log 1.1: row lengths within a tenth behave alike in caches
double apart(std::int64_t a, std::int64_t b) {
  return std::fabs(std::log(static_cast<double>(a) / static_cast<double>(b)));
}
}  // namespace

std::optional<Moved> moved(const Context& c, const SweepRecord& r) {
  const std::string variant = variant_of(r.key);
  std::optional<Moved> best;
  double nearest = INFINITY;
  for (const AccessRecord& a : c.accesses) {
    if (a.source != "ncu" || variant_of(a.key) != variant || dtype_of(a.key) != r.dtype ||
        (a.pick() == Pick()) != (r.pick() == Pick()) || a.claimed_loads != r.claimed_loads || !a.dram_read ||
        !a.dram_write || a.V <= 0 || a.rows <= 0)
      continue;
    // A counter stops when its kernel ends. Outputs still in the L2 reach memory later and, in a run over
    // cold buffers, cost the next launch time. So every output counts as written at least once.
    const double written =
        std::max(*a.dram_write, std::min(1.0, static_cast<double>(a.claimed_stores.value_or(0))));
    const double sum = *a.dram_read + written;
    if (apart(a.V, r.V) > kNear || apart(a.rows, r.rows) > std::log(4.001) || !std::isfinite(sum) ||
        !(sum > 0))
      continue;
    // For top-k the same k is preferred, but another k reads the same logits.
    const double off = apart(a.V, r.V) + (a.pick() == r.pick() ? 0 : 10);
    if (off < nearest) nearest = off, best = Moved{sum, true, a.V};
  }
  return best ? best : claimed(r);
}

std::optional<double> own_share(const SweepRecord& r) {
  const auto m = claimed(r);
  if (!m || !positive(r.accesses_at_copy_speed)) return std::nullopt;
  return m->accesses / *r.accesses_at_copy_speed;
}

std::optional<double> memory_share(const Context& c, const SweepRecord& r) {
  const auto m = moved(c, r);
  if (!m || !m->measured || !positive(r.accesses_at_copy_speed)) return std::nullopt;
  return m->accesses / *r.accesses_at_copy_speed;
}

Counts count(const std::vector<SweepRecord>& records) {
  Counts n;
  for (const SweepRecord& r : records) {
    if (r.role == "ceiling") continue;
    ++(r.role == "peer" && r.status == Status::fail ? n.peers_failed : n.of[r.status]);
    n.once += r.once;
    if (!was_timed(r)) continue;
    n.wrong += r.verified == Status::fail && r.role == "variant";
    n.not_judged += r.verified == Status::unsupported && r.role == "variant";
  }
  return n;
}

bool passed(const std::vector<SweepRecord>& records) {
  const Counts n = count(records);
  return n.of[Status::pass] > 0 && n.of[Status::fail] == 0 && n.wrong == 0;
}

std::string verdict_line(const std::vector<SweepRecord>& records) {
  const Counts n = count(records);
  std::string out =
      fmt::format("{} of {} configurations timed", grouped(n.of[Status::pass]), grouped(n.records()));
  if (n.of[Status::pass] == 0) return out + ": nothing to judge.";
  if (n.of[Status::fail] + n.wrong > 0)
    out += fmt::format(", {} failed or wrong.", grouped(n.of[Status::fail] + n.wrong));
  else
    out += n.not_judged == 0
               ? ", every one of this project judged right before and after."
               : fmt::format(", {} of them outside what can be judged, the others right before and after.",
                             grouped(n.not_judged));
  if (n.of[Status::not_run] > 0) out += fmt::format(" {} not run.", grouped(n.of[Status::not_run]));
  return out;
}

}  // namespace assay::speed
