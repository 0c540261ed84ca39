// SPDX-License-Identifier: Apache-2.0
// The memory that a launch needs, and the bytes that it must move, on any machine.
#include "reports/sweep/rig/rig.hpp"

namespace assay {
namespace {

std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

Room room_for(const Variant& variant, const Problem& p) {
  Room r;
  r.logits = rounded(count(p.rows * p.V) * size_of(p.in));
  r.probs = rounded(count(p.rows * p.out_columns()) * size_of(p.out));
  if (selects(p.op)) r.indices = rounded(count(p.rows * p.k * p.index_bytes()));
  if (variant.workspace_bytes) r.workspace = rounded(variant.workspace_bytes(p));
  return r;
}

std::int64_t compulsory_bytes(const Problem& p) {
  const auto in = static_cast<std::int64_t>(size_of(p.in)), out = static_cast<std::int64_t>(size_of(p.out));
  return p.rows * (p.V * in + p.out_columns() * out + (selects(p.op) ? p.k * p.index_bytes() : 0));
}

}  // namespace assay
