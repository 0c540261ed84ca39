// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/data/record.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "accuracy/record_fields.hpp"
#include "reference/error.hpp"
#include "reference/problem.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"

namespace assay {

using nlohmann::json;

/// The list of all fields. Both the writer and the reader use it.
template <IsA<SweepRecord> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("role", r.role);
  visit("backend", r.backend);
  visit("op", r.op);
  visit("dtype", r.dtype);
  each_number(r, r.op, visit);
  visit("status", r.status);
  visit("reason", r.reason);
  visit("samples", r.samples);
  visit("times_us", r.times_us);
  visit("launches_per_sample", r.launches_per_sample);
  visit("median_us", r.median_us);
  visit("p10_us", r.p10_us);
  visit("p90_us", r.p90_us);
  visit("ci_low_us", r.ci_low_us);
  visit("ci_high_us", r.ci_high_us);
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
  visit("cold", r.cold);
  visit("verified", r.verified);
  visit("verified_reason", r.verified_reason);
  visit("verified_elements", r.verified_elements);
  visit("max_ulp", r.max_ulp);
  visit("max_utilisation", r.max_utilisation);
  visit("family", r.family);
  visit("seed", r.seed);
  visit("distinct_rows", r.distinct_rows);
  visit("gpu", r.gpu);
  visit("sm_clock_mhz", r.sm_clock_mhz);
  visit("mem_clock_mhz", r.mem_clock_mhz);
  visit("sm_clock_now_mhz", r.sm_clock_now_mhz);
  visit("driver", r.driver);
  visit("cuda", r.cuda);
  visit("compiler", r.compiler);
  visit("flags", r.flags);
  visit("commit", r.commit);
  visit("reproduce", r.reproduce);
}

namespace {

void require_one_of(const char* field, const std::string& value, std::initializer_list<const char*> known) {
  for (const char* k : known)
    if (value == k) return;
  throw InputError(fmt::format("field {}: '{}' is not known", field, value));
}

}  // namespace

std::string identity(const SweepRecord& r) {
  std::string s = fmt::format("{} V={} rows={}", r.key, r.V, r.rows);
  // The key of a ceiling does not name a dtype.
  if (r.role == "ceiling") s += " " + r.dtype;
  each_size(sizes_of(r.op), r, [&](const SizeInfo& size, auto n) {
    if (!of_inputs(size) && n != 0) s += fmt::format(" {}={}", size.name, text_of_number(n));
  });
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

json to_json(const SweepRecord& r) {
  json j = fields_to_json(r);
  j.update({{"kind", "sweep"}, {"version", 1}});
  return j;
}

SweepRecord sweep_record_from_json(const json& j) {
  if (!j.is_object() || !j.contains("kind") || j["kind"] != "sweep")
    throw InputError("field kind: no record of assay sweep");
  if (!j.contains("version") || j["version"] != 1) throw InputError("field version: must be 1");
  auto r = fields_from_json<SweepRecord>(j);
  read_old_threshold(j, r.op, r);
  require_one_of("role", r.role, {"variant", "peer", "ceiling"});
  require_one_of("status", r.status, {"measured", "once", "unsupported", "not_run", "failed"});
  require_one_of("verified", r.verified, {"pass", "fail", "not_judged"});
  return r;
}

std::string sweep_line(const SweepRecord& r) {
  return to_json(r).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<SweepRecord> read_sweep(const std::filesystem::path& file, bool* torn) {
  std::string text = read_file(file);
  if (torn) *torn = !text.empty() && text.back() != '\n';
  text.resize(text.rfind('\n') + 1);  // drops a torn last line
  std::vector<SweepRecord> out;
  std::map<std::string, std::size_t> at;
  for_each_line(file, text, [&](const std::string& line) {
    SweepRecord r = sweep_record_from_json(parse_json_line(line));
    const auto [place, fresh] = at.emplace(identity(r), out.size());
    if (fresh)
      out.push_back(std::move(r));
    else
      out[place->second] = std::move(r);
  });
  return out;
}

}  // namespace assay
