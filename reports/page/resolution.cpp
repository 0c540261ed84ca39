// The smallest error that the judgements of this page would have refused, by key and row length V.
#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>

#include "reports/data/html.hpp"
#include "reports/page/parts.hpp"

namespace assay::page {
namespace {

struct Lengths {
  const char* heading;
  std::int64_t most;
};
constexpr std::array kLengths = {Lengths{"#V to 128", 128}, Lengths{"#to 1,025", 1025}, Lengths{"#to 4,099", 4099},
                                 Lengths{"#to 32,000", 32000},
                                 Lengths{"#longer", std::numeric_limits<std::int64_t>::max()}};

std::size_t column_of(std::int64_t V) {
  std::size_t at = 0;
  while (V > kLengths[at].most) ++at;
  return at;
}

std::string cell(const Extreme& e) {
  if (!e.record) return number_cell(std::nullopt);
  const double row = e.record->resolution_sum.value_or(0);
  return fmt::format("<td class=\"n\" data-v=\"{}\" title=\"{}, V = {}; common to a whole row: {:.2g}\">{:.2g}</td>",
                     e.value, escape(e.record->family), grouped(e.record->V), row, e.value);
}

std::string table(const Context& c, const std::string& backend) {
  std::map<std::string, std::array<Extreme, kLengths.size()>> coarsest;  // by key
  for (const Record& r : c.data.records)
    if (r.backend == backend && has_resolution(r))
      coarsest[r.key][column_of(r.V)].take(*r.resolution, r);
  if (coarsest.empty()) return "";
  std::string out = open_table({"key", kLengths[0].heading, kLengths[1].heading, kLengths[2].heading,
                                kLengths[3].heading, kLengths[4].heading});
  out += "<tbody>";
  for (const KeyTally& k : c.keys) {
    const auto row = coarsest.find(k.info.key);
    if (row == coarsest.end()) continue;
    out += fmt::format("<tr><th>{} <b class=\"{}\">{}</b></th>", escape(k.info.variant),
                       dtype_class(k.info.dtype), escape(k.info.dtype));
    for (const Extreme& e : row->second) out += cell(e);
    out += "</tr>";
  }
  return scroll(out + "</tbody></table>");
}

}  // namespace

std::string resolution(const Context& c) {
  return "<p>The error that a typical output may have and still pass, relative to its exact value. A pass "
         "says no more than that. For a logarithm the error is absolute, and logarithms so far from 0 that "
         "their last place is coarser than 0.001 are left out. Each cell has the coarsest pass of a key. "
         "Hold the pointer over a number to see where it is, and by how much a whole row may be off.</p>" +
         per_backend(c, table);
}

}  // namespace assay::page
