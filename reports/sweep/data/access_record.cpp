// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/data/access_record.hpp"

#include <nlohmann/json.hpp>

#include "accuracy/record_fields.hpp"
#include "kernels/registry.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"

namespace assay {

using nlohmann::json;

/// The op of the variant, which may be of another backend than this build has.
static std::string op_of(const AccessRecord& r) {
  const std::string_view variant = std::string_view(r.key).substr(0, r.key.find('/'));
  for (const Variant& v : registry())
    if (v.variant == variant) return name(v.op);
  return {};
}

/// The list of all fields. Both the writer and the reader use it.
template <IsA<AccessRecord> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("claimed_loads", r.claimed_loads);
  visit("claimed_stores", r.claimed_stores);
  visit("source", r.source);
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

json to_json(const AccessRecord& r) {
  json j = fields_to_json(r);
  j.update({{"kind", "accesses"}, {"version", 1}});
  return j;
}

AccessRecord access_record_from_json(const json& j) {
  if (!j.is_object() || !j.contains("kind") || j["kind"] != "accesses")
    throw InputError("field kind: no record of assay sweep accesses");
  if (!j.contains("version") || j["version"] != 1) throw InputError("field version: must be 1");
  auto r = fields_from_json<AccessRecord>(j);
  read_old_threshold(j, op_of(r), r);
  if (r.source != "host counters" && r.source != "ncu")
    throw InputError("field source: '" + r.source + "' is not known");
  return r;
}

std::string access_line(const AccessRecord& r) {
  return to_json(r).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<AccessRecord> read_accesses(const std::filesystem::path& file) {
  std::vector<AccessRecord> out;
  for_each_line(file, read_file(file), [&](const std::string& line) {
    out.push_back(access_record_from_json(parse_json_line(line)));
  });
  return out;
}

}  // namespace assay
