// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/data/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "accuracy/record_fields.hpp"
#include "kernels/registry.hpp"
#include "reference/problem.hpp"
#include "reports/records/store_kind.hpp"

namespace assay {

namespace {

constexpr std::array kRoles = {"variant", "peer", "ceiling"};
constexpr std::array kSources = {"host counters", "ncu"};

/// A status of a timing. A pass with a single sample is "once".
template <class Timed>
class TimedStatus {
 public:
  explicit TimedStatus(Timed& t) : t_(t) {}
  void write(nlohmann::json& j) const { j = status_word(t_); }
  void read(const nlohmann::json& j) const {
    t_.once = j == "once";
    constexpr std::array kWords = {"measured", "failed", kNoWord, "unsupported", "not_run"};
    if (t_.once)
      t_.status = Status::pass;
    else
      Word(t_.status, kWords).read(j);
  }

 private:
  Timed& t_;
};

template <class T, class Visit>
void each_timed_field(T& t, Visit& visit) {
  visit("key", t.key);
  visit("dtype", t.dtype);
  visit("status", TimedStatus(t));
  visit("reason", t.reason);
  visit("samples", t.samples);
  visit("times_us", t.times_us);
  visit("median_us", t.median_us);
  visit("p10_us", t.p10_us);
  visit("p90_us", t.p90_us);
  visit("ci_low_us", t.ci_low_us);
  visit("ci_high_us", t.ci_high_us);
  visit("cold", t.cold);
  visit("verified", Word(t.verified, kVerifiedWords));
  visit("verified_reason", t.verified_reason);
  visit("verified_elements", t.verified_elements);
  visit("max_ulp", t.max_ulp);
  visit("max_utilisation", t.max_utilisation);
  visit("family", t.family);
  visit("seed", t.seed);
  visit("gpu", t.gpu);
  visit("driver", t.driver);
  visit("cuda", t.cuda);
  visit("compiler", t.compiler);
  visit("flags", t.flags);
  visit("commit", t.commit);
  visit("reproduce", t.reproduce);
}

}  // namespace

template <IsA<SweepRecord> R, class Visit>
void each_field(R& r, Visit& visit) {
  each_timed_field(r, visit);
  visit("role", OneOf(r.role, kRoles));
  visit("backend", r.backend);
  visit("op", r.op);
  each_number(r, r.op, visit);
  visit("launches_per_sample", r.launches_per_sample);
  visit("bytes", r.bytes);
  visit("claimed_loads", r.claimed_loads);
  visit("claimed_stores", r.claimed_stores);
  visit("copy_us", r.copy_us);
  visit("read_us", r.read_us);
  visit("empty_us", r.empty_us);
  visit.newer("fastest_us", r.fastest_us);
  visit("share_of_copy", r.share_of_copy);
  visit("share_of_read", r.share_of_read);
  visit("gb_per_s", r.gb_per_s);
  visit("share_of_datasheet", r.share_of_datasheet);
  visit("accesses_at_copy_speed", r.accesses_at_copy_speed);
  visit("distinct_rows", r.distinct_rows);
  visit("sm_clock_mhz", r.sm_clock_mhz);
  visit("mem_clock_mhz", r.mem_clock_mhz);
  visit("sm_clock_now_mhz", r.sm_clock_now_mhz);
}

const char* status_word(const TimedFact& f) {
  if (f.timed()) return f.once ? "once" : "measured";
  return f.status == Status::fail ? "failed" : name(f.status);
}

std::string identity(const SweepRecord& r) {
  std::string s = fmt::format("{} V={} rows={}", r.key, r.V, r.rows);
  // The key of a ceiling does not name a dtype.
  if (r.role == "ceiling") s += " " + r.dtype;
  s += named_pick(r.op, r);
  if (r.family != "normal_1") s += " family=" + r.family;
  if (r.seed != 1) s += fmt::format(" seed={}", r.seed);
  return s;
}

bool reads_only(const SweepRecord& r) {
  const std::optional<Op> op = parse_op(r.op);
  return r.op == "read" || (op && (selects(*op) || one_value(*op)));
}

bool writes_less(const SweepRecord& r) {
  const auto dtype = parse_dtype(r.dtype);
  return dtype && r.bytes < 2 * r.rows * r.V * static_cast<std::int64_t>(size_of(*dtype));
}

std::optional<double> share_of_fastest(const SweepRecord& r) {
  std::optional<double> fastest = r.fastest_us ? r.fastest_us : r.copy_us;
  if (!r.fastest_us && writes_less(r) && r.read_us && !(fastest && *fastest <= *r.read_us))
    fastest = r.read_us;
  if (!fastest || !r.median_us || !(*r.median_us > 0)) return {};
  return *fastest / *r.median_us;
}

std::string beyond_reach(const std::optional<double>& share) {
  if (!share || *share <= kMostShare) return {};
  return fmt::format(
      "its speed is {:.4g} times that of the fastest way in which this machine moves as many bytes: more "
      "than "
      "{:g} contradicts the machine",
      *share, kMostShare);
}

std::string beyond_reach(const SweepRecord& r) {
  return r.role == "ceiling" ? std::string() : beyond_reach(share_of_fastest(r));
}

std::string behind_name(std::string_view op, const Pick& pick) {
  if (pick == Pick()) return {};
  const std::optional<Op> known = parse_op(op);
  return known && picks(*known) ? ", " + words_of(*known, pick) : fmt::format(", k = {}", pick.k);
}

std::vector<SweepRecord> records_of_folder(const std::filesystem::path& folder) {
  auto all = facts_in<SweepRecord>(folder / "sweep.jsonl"),
       more = facts_in<SweepRecord>(folder / "peers.jsonl");
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return all;
}

template <IsA<SplitShare> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("device", r.device);
  visit("first", r.first);
  visit("columns", r.columns);
  visit("median_us", r.median_us);
  visit("alone_us", r.alone_us);
  visit("copy_us", r.copy_us);
  visit("share_of_alone", r.share_of_alone);
  visit("share_of_copy", r.share_of_copy);
}

template <IsA<SplitRecord> R, class Visit>
void each_field(R& r, Visit& visit) {
  each_timed_field(r, visit);
  visit("rows", r.rows);
  visit("V", r.V);
  visit("alone_key", r.alone_key);
  visit("gpus", r.gpus);
  visit("exchange", r.exchange);
  visit("chunk_rows", r.chunk_rows);
  visit("depth", r.depth);
  visit("teams", r.teams);
  visit("graph", r.graph);
  visit("keep", r.keep);
  visit("shares", r.shares);
  visit("nccl", r.nccl);
}

std::optional<double> least_share(const SplitRecord& r) {
  std::optional<double> least;
  for (const SplitShare& s : r.shares)
    if (s.share_of_alone) least = least ? std::min(*least, *s.share_of_alone) : *s.share_of_alone;
  return least;
}

std::string identity(const SplitRecord& r) {
  return fmt::format("{} V={} rows={} gpus={} {} {}x{}{}{}{}{}{}", r.key, r.V, r.rows, r.gpus, r.exchange,
                     r.chunk_rows, r.depth, r.teams > 1 ? fmt::format(" teams={}", r.teams) : "",
                     r.graph ? "" : " queued", r.keep ? "" : " not kept",
                     r.family == "normal_1" ? "" : " family=" + r.family,
                     r.seed == 1 ? "" : fmt::format(" seed={}", r.seed));
}

std::string op_of(const AccessRecord& r) {
  const std::string_view variant = std::string_view(r.key).substr(0, r.key.find('/'));
  for (const Variant& v : registry())
    if (v.variant == variant) return name(v.op);
  return {};
}

template <IsA<AccessRecord> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("claimed_loads", r.claimed_loads);
  visit("claimed_stores", r.claimed_stores);
  visit("source", OneOf(r.source, kSources));
  each_number(r, op_of(r), visit);
  visit("loads", r.loads);
  visit("stores", r.stores);
  visit("dram_read", r.dram_read);
  visit("dram_write", r.dram_write);
  visit("l2_read", r.l2_read);
  visit("l2_write", r.l2_write);
  visit("registers", r.registers);
  visit("local_bytes", r.local_bytes);
  visit("occupancy", r.occupancy);
  visit("sectors_per_request", r.sectors_per_request);
  visit("instructions_per_element", r.instructions_per_element);
  visit("issue_share", r.issue_share);
  visit("dram_share", r.dram_share);
  visit("time_us", r.time_us);
  visit("kernels", r.kernels);
  visit("gpu", r.gpu);
}

std::string identity(const AccessRecord& r) {
  return fmt::format("{} V={} rows={}{} {}", r.key, r.V, r.rows, named_pick(op_of(r), r), r.source);
}

ASSAY_FACTS(, SweepRecord);
ASSAY_FACTS(, SplitRecord);
ASSAY_FACTS(, AccessRecord);

}  // namespace assay
