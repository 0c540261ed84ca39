// SPDX-License-Identifier: Apache-2.0
#include "reports/terminal/verdict_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/data/html.hpp"
#include "reports/data/summary.hpp"
#include "reports/data/tally.hpp"

namespace assay {
namespace {

const char* word_of(const VerdictCase& c) { return kOutcomeWords[static_cast<std::size_t>(c.outcome)]; }
bool skipped(const VerdictCase& c) { return c.outcome != Status::pass && !spoils_a_run(c.outcome); }

/// Of the outcomes of a group, the one that decides: a failure before all, then what was left undecided, then
/// a pass.
int weight(Status s) { return is_wrong(s) ? 3 : s == Status::inconclusive ? 2 : s == Status::pass ? 1 : 0; }

void take(VerdictCase& c, const Record& r) {
  ++c.records;
  c.bad += spoils_a_run(r.status);
  if (c.records > 1 && weight(r.status) <= weight(c.outcome)) return;
  c.outcome = r.status;
  c.message.clear();
  c.reproduce.clear();
  if (r.status == Status::pass) return;
  const CheckResult* const first = first_failed(r);
  c.message =
      fmt::format("{}: {}", name(r.status), first && !first->detail.empty() ? first->detail : r.reason);
  c.reproduce = r.reproduce;
}

std::vector<VerdictCase> cases_of(const std::vector<Record>& records) {
  std::vector<VerdictCase> out;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const Record& r : records) {
    const std::string words = (r.group.empty() ? "" : r.group + ": ") + r.family;
    const auto [at, fresh] = known.try_emplace({r.key, words}, out.size());
    if (fresh) out.push_back({.suite = r.key, .name = words, .records = 0});
    take(out[at->second], r);
  }
  return out;
}

/// Only valid UTF-8 may stand in JSON and XML; what a kernel prints may be anything.
std::string valid(const std::string& text) {
  const nlohmann::json j = text;
  return nlohmann::json::parse(j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .get<std::string>();
}

/// XML has no U+FFFE and no U+FFFF. Each is replaced by U+FFFD.
std::string xml(const std::string& text) {
  std::string out = escape(valid(text));
  for (const char* const none : {"\xef\xbf\xbe", "\xef\xbf\xbf"})
    for (std::size_t at = 0; (at = out.find(none, at)) != std::string::npos; at += 3)
      out.replace(at, 3, "\xef\xbf\xbd");
  return out;
}

std::string element(const VerdictCase& c) {
  std::string out = fmt::format("    <testcase classname=\"{}\" name=\"{}\">", xml(c.suite), xml(c.name));
  const std::string text =
      xml(fmt::format("{}\n{} of {} records\n{}", c.message, c.bad, c.records, c.reproduce));
  if (spoils_a_run(c.outcome))
    out += fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>", word_of(c),
                       xml(shorten(c.message, 200)), text);
  if (skipped(c)) out += fmt::format("<skipped message=\"{}\"/>", xml(shorten(c.message, 200)));
  return out + "</testcase>\n";
}

struct Totals {
  std::size_t tests = 0, failures = 0, skipped = 0;
  std::string text() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", tests, failures, skipped);
  }
};

Totals totals(const std::vector<VerdictCase>& cases) {
  Totals t{cases.size()};
  for (const VerdictCase& c : cases) {
    t.failures += spoils_a_run(c.outcome);
    t.skipped += skipped(c);
  }
  return t;
}

std::string suite(const std::string& name, const std::vector<VerdictCase>& cases,
                  const std::string& properties) {
  std::string out =
      fmt::format("  <testsuite name=\"{}\" {}>\n{}", xml(name), totals(cases).text(), properties);
  for (const VerdictCase& c : cases) out += element(c);
  return out + "  </testsuite>\n";
}

std::int64_t rows_judged(const VerdictDocument& d) {
  for (const auto& [word, n] : d.counts)
    if (word == "rows_judged") return n;
  return 0;
}

}  // namespace

std::string reason_of(const VerdictDocument& d) { return (d.part.empty() ? "" : d.part + ": ") + d.reason; }

VerdictDocument verdict_document(std::string command, const ReportData& data, int exit_status) {
  VerdictDocument d;
  d.command = std::move(command);
  d.verdict = name(verdict_of(data));
  d.reason = verdict_reason(data);
  d.part = data.part;
  d.exit_status = exit_status;
  d.seconds = data.seconds;
  d.environment = data.environment;
  StatusCounts n;
  JudgedCounts judged;
  for (const Record& r : data.records) n[r.status] += cases_in(r), judged.take(r);
  d.counts = {{"planned", data.planned},
              {"run", data.executed},
              {"passed", n[Status::pass]},
              {"failed", n[Status::fail]},
              {"crashed", n[Status::crashed]},
              {"hung", n[Status::hung]},
              {"inconclusive", n[Status::inconclusive]},
              {"unsupported", n[Status::unsupported]},
              {"not_run", n[Status::not_run]},
              {"rows_judged", judged.rows}};
  d.cases = cases_of(data.records);
  return d;
}

std::string render_verdict_json(const VerdictDocument& d) {
  using nlohmann::ordered_json;
  ordered_json j = {{"format", "assay verdict 1"},  {"command", d.command},   {"verdict", d.verdict},
                    {"exit_status", d.exit_status}, {"reason", reason_of(d)}, {"seconds", d.seconds}};
  if (!d.part.empty()) j["part"] = d.part;
  // Of rows like those that were judged, at most this share is wrong, at 95 %.
  if (const std::int64_t rows = rows_judged(d); d.verdict == name(Verdict::pass) && rows > 0)
    j["wrong_rows_at_most"] = most_wrong(rows);
  j["counts"] = ordered_json::object();
  for (const auto& [word, n] : d.counts) j["counts"][word] = n;
  j["kernels"] = ordered_json::array();
  j["failures"] = ordered_json::array();
  for (const VerdictCase& c : d.cases) {
    auto kernel = std::find_if(j["kernels"].begin(), j["kernels"].end(),
                               [&](const ordered_json& k) { return k["key"] == c.suite; });
    if (kernel == j["kernels"].end()) {
      j["kernels"].push_back(
          {{"key", c.suite}, {"passed", 0}, {"failed", 0}, {"undecided", 0}, {"skipped", 0}});
      kernel = j["kernels"].end() - 1;
    }
    (*kernel)[word_of(c)] = (*kernel)[word_of(c)].get<int>() + 1;
    if (spoils_a_run(c.outcome))
      j["failures"].push_back({{"key", c.suite},
                               {"case", c.name},
                               {"outcome", word_of(c)},
                               {"records", c.records},
                               {"bad", c.bad},
                               {"message", c.message},
                               {"reproduce", c.reproduce}});
  }
  j["files"] = ordered_json::array();
  for (const auto& file : d.files) j["files"].push_back(std::filesystem::absolute(file).string());
  j["environment"] = ordered_json::object();
  for (const auto& [label, value] : d.environment) j["environment"][label] = value;
  return j.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string render_junit(const VerdictDocument& d) {
  VerdictCase verdict{
      .suite = "assay " + d.command, .name = "verdict", .message = d.verdict + ": " + reason_of(d)};
  if (d.exit_status != 0) verdict.outcome = Status::fail, verdict.bad = 1;
  std::string properties = "    <properties>\n";
  for (const auto& [label, value] : d.environment)
    properties += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", xml(label), xml(value));
  if (!d.part.empty())
    properties += fmt::format("      <property name=\"part\" value=\"{}\"/>\n", xml(d.part));
  properties +=
      fmt::format("      <property name=\"exit status\" value=\"{}\"/>\n    </properties>\n", d.exit_status);
  std::string suites = suite(verdict.suite, {verdict}, properties);
  std::vector<std::pair<std::string, std::vector<VerdictCase>>> by_suite;
  for (const VerdictCase& c : d.cases) {
    auto at =
        std::find_if(by_suite.begin(), by_suite.end(), [&](const auto& s) { return s.first == c.suite; });
    if (at == by_suite.end()) at = by_suite.insert(by_suite.end(), {c.suite, {}});
    at->second.push_back(c);
  }
  for (const auto& [name, cases] : by_suite) suites += suite(name, cases, "");
  std::vector<VerdictCase> all = d.cases;
  all.push_back(verdict);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay {}\" {} "
      "time=\"{:.3f}\">\n{}</testsuites>\n",
      xml(d.command), totals(all).text(), d.seconds, suites);
}

}  // namespace assay
