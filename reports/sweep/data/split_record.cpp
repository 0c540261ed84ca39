// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/data/split_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"

namespace assay {

using nlohmann::json;

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

/// The list of all fields. Both the writer and the reader use it.
template <IsA<SplitRecord> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("key", r.key);
  visit("alone_key", r.alone_key);
  visit("dtype", r.dtype);
  visit("gpus", r.gpus);
  visit("rows", r.rows);
  visit("V", r.V);
  visit("exchange", r.exchange);
  visit("chunk_rows", r.chunk_rows);
  visit("depth", r.depth);
  visit("teams", r.teams);
  visit("graph", r.graph);
  visit("keep", r.keep);
  visit("status", r.status);
  visit("reason", r.reason);
  visit("samples", r.samples);
  visit("times_us", r.times_us);
  visit("median_us", r.median_us);
  visit("p10_us", r.p10_us);
  visit("p90_us", r.p90_us);
  visit("ci_low_us", r.ci_low_us);
  visit("ci_high_us", r.ci_high_us);
  visit("shares", r.shares);
  visit("cold", r.cold);
  visit("verified", r.verified);
  visit("verified_reason", r.verified_reason);
  visit("verified_elements", r.verified_elements);
  visit("max_ulp", r.max_ulp);
  visit("max_utilisation", r.max_utilisation);
  visit("family", r.family);
  visit("seed", r.seed);
  visit("gpu", r.gpu);
  visit("driver", r.driver);
  visit("cuda", r.cuda);
  visit("nccl", r.nccl);
  visit("compiler", r.compiler);
  visit("flags", r.flags);
  visit("commit", r.commit);
  visit("reproduce", r.reproduce);
}

namespace {

SplitRecord split_record_from_json(const json& j) {
  if (!j.is_object() || !j.contains("kind") || j["kind"] != "split")
    throw InputError("field kind: no record of assay sweep split");
  if (!j.contains("version") || j["version"] != 1) throw InputError("field version: must be 1");
  auto r = fields_from_json<SplitRecord>(j);
  for (const char* known : {"pass", "fail", "not_judged"})
    if (r.verified == known) return r;
  throw InputError("field verified: " + quoted_word(r.verified) + " is not known");
}

}  // namespace

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

std::string split_line(const SplitRecord& r) {
  json j = fields_to_json(r);
  j.update({{"kind", "split"}, {"version", 1}});
  return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<SplitRecord> read_splits(const std::filesystem::path& file) {
  std::istringstream lines(read_file(file));
  std::vector<SplitRecord> out;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty()) continue;
    try {
      out.push_back(split_record_from_json(parse_json_line(line)));
    } catch (const std::exception& e) {
      throw InputError(fmt::format("{}: line {}: {}", file.string(), number, e.what()));
    }
  }
  return out;
}

void add_splits(const std::filesystem::path& file, const std::vector<SplitRecord>& fresh) {
  std::vector<SplitRecord> all;
  if (std::filesystem::exists(file)) all = read_splits(file);
  for (const SplitRecord& r : fresh) {
    std::erase_if(all, [&](const SplitRecord& o) { return identity(o) == identity(r); });
    all.push_back(r);
  }
  std::string text;
  for (const SplitRecord& r : all) text += split_line(r);
  write_files({{file, text}});
}

}  // namespace assay
