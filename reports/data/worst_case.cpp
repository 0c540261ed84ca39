// SPDX-License-Identifier: Apache-2.0
#include "reports/data/worst_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <regex>

#include "reference/error.hpp"

namespace assay {
namespace {

constexpr std::string_view kBegin = "// Worst case seen:";

double four_digits(double x) { return std::strtod(fmt::format("{:.4g}", x).c_str(), nullptr); }

WorstCase parse(const std::string& line) {
  static const std::regex form(
      "// Worst case seen: ([0-9.e+-]+) ulp \\((\\w+)@(\\w+)\\), (\\w+), V = (\\d+), rows = (\\d+), "
      "(?:k = (\\d+), |threshold = ([0-9.]+), )?seed (\\d+): row (\\d+), column (\\d+)\\.");
  std::smatch m;
  if (!std::regex_match(line, m, form)) throw InputError(fmt::format("'{}': no worst case", line));
  const auto whole = [&m](std::size_t i) { return std::strtoll(m[i].str().c_str(), nullptr, 10); };
  WorstCase w;
  w.ulp = std::strtod(m[1].str().c_str(), nullptr);
  w.dtype = m[2], w.backend = m[3], w.family = m[4];
  w.V = whole(5), w.rows = whole(6),
  w.pick = {static_cast<int>(whole(7)), std::strtod(m[8].str().c_str(), nullptr)};
  w.seed = static_cast<std::uint64_t>(whole(9));
  w.row = whole(10), w.column = whole(11);
  return w;
}

}  // namespace

std::string head_line(const WorstCase& w) {
  return fmt::format("{} {:.4g} ulp ({}@{}), {}, V = {}, rows = {}, {}seed {}: row {}, column {}.", kBegin,
                     w.ulp, w.dtype, w.backend, w.family, w.V, w.rows,
                     w.pick.k > 0 ? fmt::format("k = {}, ", w.pick.k)
                     : w.pick.threshold > 0
                         ? fmt::format("threshold = {}, ", text_of_number(w.pick.threshold))
                         : "",
                     w.seed, w.row, w.column);
}

std::optional<WorstCase> worst_case_of(const Record& r) {
  // In a failed record, `worst` is the first element that failed, not the worst one.
  if (!r.worst || !r.max_ulp || r.status == Status::fail || !std::isfinite(r.worst->ulp_error)) return {};
  WorstCase w;
  w.ulp = four_digits(r.worst->ulp_error);
  w.dtype = r.dtype, w.backend = r.backend, w.family = r.family;
  w.V = r.V, w.rows = r.rows, w.pick = r.pick(), w.seed = r.seed;
  w.row = r.worst->row, w.column = r.worst->column;
  return w;
}

std::vector<WorstCase> worst_cases_of(const std::vector<Record>& records, std::string_view variant,
                                      std::string_view op) {
  std::map<std::string, WorstCase> by_backend;
  for (const Record& r : records) {
    if (r.variant != variant || r.op != op) continue;
    const std::optional<WorstCase> w = worst_case_of(r);
    if (!w) continue;
    const auto [at, first] = by_backend.try_emplace(r.backend, *w);
    if (!first && w->ulp > at->second.ulp) at->second = *w;
  }
  std::vector<WorstCase> all;
  for (auto& [backend, w] : by_backend) all.push_back(std::move(w));
  return all;
}

HeadOfFile head_of_file(std::string_view source) {
  HeadOfFile head;
  while (source.starts_with("//")) {
    const std::string_view line = source.substr(0, source.find('\n'));
    if (line == kNoWorstCase)
      head.says_none = true;
    else if (line.starts_with(kBegin))
      head.worst.push_back(parse(std::string(line)));
    source.remove_prefix(std::min(source.size(), line.size() + 1));
  }
  return head;
}

}  // namespace assay
