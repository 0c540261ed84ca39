// SPDX-License-Identifier: Apache-2.0
#include "accuracy/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "accuracy/record_fields.hpp"
#include "kernels/fault_kind.hpp"
#include "reference/formats.hpp"
#include "reference/hash/sha256.hpp"

namespace assay {
namespace {

/// The number behind these words; empty if they are not there.
std::optional<std::int64_t> number_behind(const std::string& text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == text.npos) return {};
  char* end = nullptr;
  const char* const begin = text.c_str() + at + words.size();
  const std::int64_t n = std::strtoll(begin, &end, 10);
  return end == begin ? std::nullopt : std::optional(n);
}

/// "accumulator: sum f16, sharper than claimed; d = 2048; the claim is refuted 5 times of 12: why"
ProbeResult probe_of(const std::string& sentence) {
  const std::size_t colon = sentence.find(": "), fact = sentence.find("; "),
                    refuted = sentence.find("; the claim is refuted ");
  ProbeResult p;
  if (colon == sentence.npos) return p;
  p.probe = sentence.substr(0, colon);
  if (fact == sentence.npos || fact < colon) return p;
  p.trait = sentence.substr(colon + 2, fact - colon - 2);
  if (const std::size_t sharper = p.trait.find(", sharper than claimed"); sharper != p.trait.npos)
    p.trait.resize(sharper), p.sharper = true;
  p.refuted = number_behind(sentence, "; the claim is refuted ").value_or(0);
  if (refuted == sentence.npos || refuted > fact)
    p.saw = sentence.substr(fact + 2, refuted == sentence.npos ? refuted : refuted - fact - 2);
  if (p.probe == "accumulator" && p.trait.starts_with("sum "))
    if (const auto type = parse_dtype(p.trait.substr(4))) p.sum = name(*type);
  return p;
}

void read_old_words(CheckResult& c) {
  if (c.failed == 0) return;
  // "row 3: element 0 was never written", but not "row 66 of 133: row 3: ..."
  if (c.check == Check::written && c.detail.starts_with("row "))
    if (const auto row = number_behind(c.detail, "row ");
        row && c.detail.starts_with(fmt::format("row {}: ", *row)))
      c.row = row;
  if (c.check != Check::launch) return;
  c.of_measurement = c.detail.find("to measure the sum: ") != c.detail.npos;
  if (c.detail.find(kStoppedBySignal) != c.detail.npos) c.cause = FaultKind::stopped;
  constexpr const char *kAt = "a read at byte ", *kHave = " of the logits, which have ";
  const auto at = number_behind(c.detail, kAt), have = number_behind(c.detail, kHave);
  if (!c.access && at && have) c.access = {true, true, *at, *have};
}

}  // namespace

void read_old_words(Record& r) {
  if (r.nearest == Nearest::not_looked_for && r.status == Status::fail && !r.behaves_like.empty())
    r.nearest = r.behaves_like.starts_with("would pass with ") ? Nearest::other_class
                : r.behaves_like.starts_with("its claim")      ? Nearest::its_own
                                                               : Nearest::none;
  if (r.why == Why::none && (r.status == Status::unsupported || r.status == Status::not_run)) {
    const std::string word = r.reason.substr(0, r.reason.find(':'));
    const auto at = std::find(kWhyNames.begin() + 1, kWhyNames.end(), word);
    if (at != kWhyNames.end()) r.why = static_cast<Why>(at - kWhyNames.begin());
    if (r.reason.find(": the claimed arithmetic is too coarse") != std::string::npos) r.why = Why::coarse;
  }
  std::erase_if(r.evidence, [&](const std::string& e) {
    const bool passes = e == "alone, in a fresh process, it passes";
    if (!passes && e != "alone, in a fresh process, it fails as well") return false;
    r.alone = passes ? Alone::passes : Alone::fails;
    return true;
  });
  if (r.returned == "the launch came back") r.unpromised = Unpromised::came_back;
  if (r.family == "probe" && r.probes.empty())
    for (const std::string& e : r.evidence) r.probes.push_back(probe_of(e));
  for (CheckResult& c : r.checks) read_old_words(c);
  r.facts = 1;
}

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

const char* name(Why w) { return kWhyNames[static_cast<std::size_t>(w)]; }
Obstacle obstacle(Why why, std::string_view words) { return {why, fmt::format("{}: {}", name(why), words)}; }

const char* name(Status s) { return kStatusNames[static_cast<std::size_t>(s)]; }

bool too_coarse(const Record& r) { return r.status == Status::unsupported && r.why == Why::coarse; }

std::string identity(const Record& r) {
  std::string s = fmt::format("{} {} {}", r.key, r.op, r.family);
  each_size(sizes_of(r.op), r, [&](const SizeInfo& size, auto n) {
    const bool several = r.swept && size.part == SizePart::V;
    s += fmt::format(" {}={}", size.name, several ? r.swept->lengths : text_of_number(n));
  });
  s += fmt::format(" seed={}", r.seed);
  if (!r.group.empty()) s += " " + r.group;
  if (!r.setup.empty()) s += " " + r.setup.text();
  return s;
}

std::vector<std::int64_t> lengths_in(const Record& r) {
  if (!r.swept) return {r.V};
  std::vector<std::int64_t> all;
  for (const char* at = r.swept->lengths.c_str(); *at;) {
    char* end = nullptr;
    const std::int64_t first = std::strtoll(at, &end, 10);
    const std::int64_t last = *end == '-' ? std::strtoll(end + 1, &end, 10) : first;
    // The file may be anyone's.
    constexpr std::int64_t kMost = 1 << 20;
    if (end == at || first < 0 || last < first || last - first >= r.swept->cases || last - first > kMost ||
        std::ssize(all) > kMost)
      break;
    for (std::int64_t V = first; V <= last; ++V) all.push_back(V);
    at = *end == ',' ? end + 1 : end;
  }
  return all;
}

namespace {

bool may_be_swept(const Record& r) {
  return r.group == "shapes" && r.status == Status::pass && r.V > 0 && r.rows > 0 && r.rows_outside == 0 &&
         r.returned.empty() && r.at_first.empty() && r.evidence.empty() && r.escalated == 0 && !r.swept;
}

/// Logarithms far from 0 are counted apart by their resolution, so a sweep holds one kind of them.
bool is_coarse(const std::optional<double>& resolution) { return resolution && *resolution > 1e-3; }

/// "1-4096, 5003".
std::string text_of_lengths(const std::vector<const Record*>& by_length) {
  std::string s;
  for (std::size_t i = 0, end = 0; i < by_length.size(); i = end) {
    for (end = i + 1; end < by_length.size() && by_length[end]->V == by_length[end - 1]->V + 1;) ++end;
    s += fmt::format("{}{}", s.empty() ? "" : ", ", by_length[i]->V);
    if (end > i + 1) s += fmt::format("-{}", by_length[end - 1]->V);
  }
  return s;
}

/// The case with the largest of a figure, the first of those.
const Record* largest_of(const std::vector<const Record*>& all, std::optional<double> Record::*figure) {
  return *std::ranges::max_element(all,
                                   [&](const Record* a, const Record* b) { return a->*figure < b->*figure; });
}

Record record_of_sweep(const std::vector<const Record*>& all) {
  Record one = *largest_of(all, &Record::max_ulp);
  one.swept = SweptLengths{std::ssize(all), 0, text_of_lengths(all)};
  std::string lines;
  for (const Record* const r : all) lines += record_line(*r), one.swept->rows_judged += r->rows_judged;
  one.swept->sha256 = sha256_of(lines);
  return one;
}

}  // namespace

std::vector<Record> with_swept_lengths(const std::vector<Record>& records) {
  constexpr std::size_t kFew = 1000;
  std::set<std::string> kept_apart;
  for (const Record& r : records)
    if (r.status != Status::pass && r.status != Status::unsupported && r.status != Status::not_run)
      kept_apart.insert(r.key);
  const auto name_of = [](const Record& r) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {}", r.key, r.op, r.family, r.rows, r.k, r.threshold,
                       r.seed, is_coarse(r.resolution), is_coarse(r.resolution_sum), r.setup.text());
  };
  std::map<std::string, std::vector<const Record*>> sweeps;
  for (const Record& r : records)
    if (may_be_swept(r) && !kept_apart.contains(r.key)) sweeps[name_of(r)].push_back(&r);
  std::set<const Record*> left_out;
  std::map<const Record*, const std::vector<const Record*>*> first_of;
  for (auto& [name, all] : sweeps) {
    if (all.size() < kFew) continue;
    std::set<const Record*> own;
    for (const auto figure : {&Record::max_bound_ratio, &Record::resolution, &Record::resolution_sum})
      own.insert(largest_of(all, figure));
    std::erase_if(all, [&](const Record* r) { return own.contains(r); });
    first_of[all.front()] = &all;
    left_out.insert(all.begin(), all.end());
    std::ranges::stable_sort(all, {}, &Record::V);
  }
  std::vector<Record> out;
  for (const Record& r : records)
    if (const auto at = first_of.find(&r); at != first_of.end())
      out.push_back(record_of_sweep(*at->second));
    else if (!left_out.contains(&r))
      out.push_back(r);
  return out;
}

nlohmann::json to_json(const Record& r) { return fields_to_json(r); }

std::string record_line(const Record& r) {
  return to_json(r).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Record record_from_json(const nlohmann::json& j) {
  Record r = fields_from_json<Record>(j);
  read_old_threshold(j, r.op, r);
  if (!j.contains("facts")) r.facts = 0;
  if (r.facts == 0) read_old_words(r);
  return r;
}

}  // namespace assay
