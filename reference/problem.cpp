// SPDX-License-Identifier: Apache-2.0
#include "reference/problem.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace assay {

std::string words_of_k(Op op, int k) {
  if (selects(op)) return "k = " + std::to_string(k);
  if (!keeps_a_set(op)) return {};
  std::string digits = std::to_string(kMillion + k).substr(1);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return "threshold " + (k == kMillion ? "1" : "0." + digits);
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
  if (keeps_a_set(p.op) && (p.k < 1 || p.k > kMillion))
    return "the threshold must be 1 to 1000000 millionths, got " + std::to_string(p.k);
  if (!std::isfinite(p.scale)) return "scale must be finite";
  if (!(p.temperature > 0) || !std::isfinite(p.temperature)) return "temperature must be positive and finite";
  return {};
}

}  // namespace assay
