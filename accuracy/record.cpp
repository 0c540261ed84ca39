// SPDX-License-Identifier: Apache-2.0
#include "accuracy/record.hpp"

#include <fmt/format.h>

#include "accuracy/record_fields.hpp"

namespace assay {
namespace {

/// Records from before these were fields said them in sentences.
void read_old_words(Record& r) {
  if (r.nearest == Nearest::not_looked_for && r.status == Status::fail && !r.behaves_like.empty())
    r.nearest = r.behaves_like.starts_with("would pass with ") ? Nearest::other_class
                : r.behaves_like.starts_with("its claim")      ? Nearest::its_own
                                                               : Nearest::none;
  if (r.status == Status::unsupported &&
      r.reason.find(": the claimed arithmetic is too coarse") != std::string::npos)
    r.why = Why::coarse;
  std::erase_if(r.evidence, [&](const std::string& e) {
    const bool passes = e == "alone, in a fresh process, it passes";
    if (!passes && e != "alone, in a fresh process, it fails as well") return false;
    r.alone = passes ? Alone::passes : Alone::fails;
    return true;
  });
}

}  // namespace

const char* name(Check c) { return kCheckNames[static_cast<std::size_t>(c)]; }
std::optional<Check> parse_check(std::string_view s) {
  for (int i = 0; i < kChecks; ++i)
    if (s == kCheckNames[static_cast<std::size_t>(i)]) return static_cast<Check>(i);
  return {};
}

const CheckResult* find_check(const Record& r, Check check) {
  for (const CheckResult& c : r.checks)
    if (c.check == check) return &c;
  return nullptr;
}

const CheckResult* first_failed(const Record& r) {
  const CheckResult* first = nullptr;
  for (const CheckResult& c : r.checks)
    if (c.failed > 0 && (!first || c.check < first->check)) first = &c;
  return first;
}

FaultKind cause_of(const Record& r) {
  for (const CheckResult& c : r.checks)
    if (c.failed > 0 && c.cause != FaultKind::none) return c.cause;
  return FaultKind::none;
}

const char* name(Status s) { return kStatusNames[static_cast<std::size_t>(s)]; }

bool too_coarse(const Record& r) { return r.status == Status::unsupported && r.why == Why::coarse; }

std::string identity(const Record& r) {
  std::string s =
      fmt::format("{} {} {} V={} rows={} k={} seed={}", r.key, r.op, r.family, r.V, r.rows, r.k, r.seed);
  if (!r.group.empty()) s += " " + r.group;
  if (!r.setup.empty()) s += " " + r.setup;
  return s;
}

nlohmann::json to_json(const Record& r) { return fields_to_json(r); }

std::string record_line(const Record& r) {
  return to_json(r).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Record record_from_json(const nlohmann::json& j) {
  Record r = fields_from_json<Record>(j);
  read_old_words(r);
  return r;
}

}  // namespace assay
