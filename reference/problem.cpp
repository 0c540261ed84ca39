// SPDX-License-Identifier: Apache-2.0
#include "reference/problem.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "reference/operand_table.hpp"

namespace assay {

std::string text_of_number(double t) {
  std::string fixed = fmt::format("{:f}", t);
  fixed.erase(fixed.find_last_not_of('0') + 1);
  if (fixed.ends_with('.')) fixed.pop_back();
  return std::strtod(fixed.c_str(), nullptr) == t ? fixed : fmt::format("{}", t);
}

std::string words_of(Op op, const Pick& pick) {
  if (selects(op)) return "k = " + std::to_string(pick.k);
  return keeps_a_set(op) ? "threshold " + text_of_number(pick.threshold) : std::string();
}

std::string names_of_ops_from_logits() {
  std::vector<std::string> names;
  for (const OpInfo& o : kOpTable)
    if (from_logits(o.op)) names.emplace_back(o.name);
  std::string list = names.front();
  for (std::size_t i = 1; i < names.size(); ++i) list += (i + 1 < names.size() ? ", " : " or ") + names[i];
  return list;
}

std::string invalid_reason(const Problem& p) {
  const std::int64_t most = std::int64_t{1} << 46;
  if (p.rows < 0) return "rows must be 0 or more, got " + std::to_string(p.rows);
  if (p.V < 0) return "V must be 0 or more, got " + std::to_string(p.V);
  if (p.in_pitch < p.V)
    return "pitch must be at least V = " + std::to_string(p.V) + ", got " + std::to_string(p.in_pitch);
  if (p.out_pitch < p.out_columns())
    return "output pitch must be at least " + std::to_string(p.out_columns()) + ", got " +
           std::to_string(p.out_pitch);
  if (p.rows > 0 && p.in_pitch > most / p.rows) return "rows x pitch exceeds 2^46 elements";
  if (selects(p.op) && p.k < 1) return "k must be 1 or more, got " + std::to_string(p.k);
  if (keeps_a_set(p.op) && !(p.threshold > 0 && p.threshold <= 1))
    return "the threshold must be above 0 and at most 1, got " +
           text_of_number(static_cast<double>(p.threshold));
  for (const OperandInfo& o : kOperandTable)
    if (o.number && (!std::isfinite(p.*o.number) || (o.positive && !(p.*o.number > 0))))
      return std::string(o.name) + " must be " + (o.positive ? "positive and finite" : "finite");
  return {};
}

}  // namespace assay
