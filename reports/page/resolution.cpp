// SPDX-License-Identifier: Apache-2.0
// The smallest error that the judgements of this page would have refused, by key and row length V.
#include <fmt/format.h>

#include <algorithm>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

std::string resolution_cell(const CoarsestResolution& e) {
  if (!e.any()) return number_cell(std::nullopt);
  return fmt::format(
      "<td class=\"n\" data-v=\"{}\" title=\"{}, V = {}; common to a whole row: {:.2g}\">{:.2g}</td>",
      e.value, escape(e.family), grouped(e.V), e.row, e.value);
}

std::string resolution_table(const Context& c, const std::string& backend) {
  std::string out = "<table><thead><tr><th>key</th>";
  for (std::size_t i = 0; i < kLengthSteps.size(); ++i)
    out += fmt::format("<th class=\"n\">{}to {}</th>", i == 0 ? "V " : "", grouped(kLengthSteps[i]));
  out += "<th class=\"n\">longer</th></tr></thead><tbody>";
  bool any = false;
  for (const KeyTally* k : c.keys) {
    const auto seen = [](const CoarsestResolution& e) { return e.any(); };
    if (k->info.backend != backend || std::none_of(k->resolution.begin(), k->resolution.end(), seen))
      continue;
    any = true;
    out += fmt::format("<tr><th>{} <b class=\"{}\">{}</b></th>", escape(k->info.variant),
                       dtype_class(k->info.dtype), escape(k->info.dtype));
    for (const CoarsestResolution& e : k->resolution) out += resolution_cell(e);
    out += "</tr>";
  }
  return any ? scroll(out + "</tbody></table>") : "";
}

}  // namespace

std::string resolution(const Context& c) {
  return "<p>The error that a typical output may have and still pass, relative to its exact value. A pass "
         "says no more than that. For a logarithm the error is absolute, and logarithms so far from 0 that "
         "their last place is coarser than 0.001 are left out. Each cell has the coarsest pass of a key. "
         "Hold the pointer over a number to see where it is, and by how much a whole row may be off.</p>" +
         per_backend(c, resolution_table);
}

}  // namespace assay::page
