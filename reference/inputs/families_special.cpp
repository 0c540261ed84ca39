// SPDX-License-Identifier: Apache-2.0
// Special families: -inf, +inf and NaN. Masks follow the units of a kernel: a vector, a thread's strided
// slice, a warp, a tile. Kernels fail when one such unit sees nothing but -inf.
#include "reference/inputs/families.hpp"

namespace assay::family_tables {
namespace {

constexpr int kMasks = 8;

bool masked(std::int64_t mask, std::int64_t group, std::int64_t groups, std::int64_t pick) {
  switch (mask) {
    case 0:
      return group < (groups + 1) / 2;  // leading half
    case 1:
      return group >= groups / 2;  // trailing half
    case 2:
      return group != pick;  // all but one
    case 3:
      return group % 2 == 0;
    case 4:
      return group == 0;
    case 5:
      return group == groups - 1;
    case 6:
      return group != 0;
    default:
      return group != groups - 1;
  }
}

// The finite elements lie near 0, or in half of the cases near -600. In those, a masked part whose maximum
// wrongly became 0 wins.
void mask_groups(Row& r, std::int64_t (*group_of)(std::int64_t i, std::int64_t size), std::int64_t size,
                 std::int64_t groups) {
  const double level = r.which / kMasks % 2 ? -600 : 0;
  const std::int64_t pick = r.random.below(groups);
  bool finite = false;
  for (std::int64_t i = 0; i < r.V; ++i) {
    const double x = level + r.random.normal();
    const bool hidden = masked(r.which % kMasks, group_of(i, size), groups, pick);
    r.set(i, hidden ? -kInf : x);
    finite |= !hidden;
  }
  if (!finite) r.set(r.which % 2 ? 0 : r.V - 1, level);  // if everything was masked, one element is kept
}

void mask_runs(Row& r, std::int64_t size) {
  mask_groups(
      r, [](std::int64_t i, std::int64_t n) { return i / n; }, size, (r.V + size - 1) / size);
}

void inf_vector(Row& r) { mask_runs(r, r.which < 2 * kMasks ? 4 : 8); }
void inf_warp(Row& r) { mask_runs(r, 32); }
void inf_tile(Row& r) { mask_runs(r, r.which < 2 * kMasks ? 1024 : 256); }
void inf_thread(Row& r) {
  mask_groups(
      r, [](std::int64_t i, std::int64_t n) { return i % n; }, 256, std::min<std::int64_t>(r.V, 256));
}

void single_finite(Row& r) {
  r.fill(-kInf);
  const std::int64_t position[] = {0, r.V - 1, r.V / 2, 31, 32, 255, 1024, r.random.below(r.V)};
  constexpr double kValue[] = {0, -1e4, 5, -0.5};
  r.set(std::min(position[r.which], r.V - 1), kValue[r.which % 4]);
}

void all_neg_inf(Row& r) { r.fill(-kInf); }

void pos_inf(Row& r) {
  r.normal();
  const std::int64_t last = r.V - 1, any = r.random.below(r.V);
  switch (r.which) {
    case 0:
      r.set(0, kInf);
      break;
    case 1:
      r.set(last, kInf);
      break;
    case 2:
      r.set(any, kInf);
      break;
    case 3:
      r.set(0, kInf), r.set(last, kInf);
      break;
    case 4:
      r.fill(kInf);
      break;
    case 5:
      r.fill(-kInf), r.set(any, kInf);
      break;
    case 6:  // next to -inf and to the largest finite value
      for (std::int64_t i = 0; i < r.V; i += 2) r.set(i, -kInf);
      r.set(r.V / 2, max_finite(r.dtype)), r.set(last, kInf);
      break;
    default:
      for (std::int64_t i = 0; i < r.V; i += 2) r.set(i, kInf);
  }
}

void nan(Row& r) {
  const Format f = format(r.dtype);
  const std::uint64_t quiet = encode(r.dtype, std::numeric_limits<double>::quiet_NaN());
  r.normal();
  const std::int64_t last = r.V - 1, any = r.random.below(r.V);
  switch (r.which) {
    case 0:
      r.set_bits(0, quiet);
      break;
    case 1:
      r.set_bits(last, quiet);
      break;
    case 2:
      r.set_bits(r.V / 2, quiet);
      break;
    case 3:
      r.set_bits(any, quiet | f.sign_mask());
      break;
    case 4:
      r.set_bits(any, quiet | 0x2a);
      break;  // NaN with a payload
    case 5:
      r.set_bits(any, f.exponent_mask() | 0x15);
      break;  // signalling NaN
    case 6:
      for (std::int64_t i = 0; i < r.V; ++i) r.set_bits(i, quiet);
      break;
    case 7:
      r.set(0, kInf), r.set(last, -kInf), r.set_bits(r.V / 2, quiet);
      break;
    default:
      r.fill(-kInf), r.set_bits(any, quiet);  // a test for "all -inf" may miss the NaN
  }
}

constexpr FamilyDef kSpecial[] = {
    {{"inf_vector", "-inf in runs of 4 or 8: a vector load that holds no finite element.",
      FamilyKind::special, trait::neg_inf | trait::parts | trait::late},
     4 * kMasks,
     inf_vector},
    {{"inf_thread", "-inf in whole strided slices: a thread whose every element is masked.",
      FamilyKind::special, trait::neg_inf | trait::parts},
     2 * kMasks,
     inf_thread},
    {{"inf_warp", "-inf in runs of 32: a warp whose maximum stays -inf while others are finite.",
      FamilyKind::special, trait::neg_inf | trait::parts | trait::late},
     2 * kMasks,
     inf_warp},
    {{"inf_tile", "-inf in runs of 1024 or 256: a tile that merges (-inf, 0), first, last or alone.",
      FamilyKind::special, trait::neg_inf | trait::parts | trait::late},
     4 * kMasks,
     inf_tile},
    {{"single_finite", "Everything is -inf but one: probability exactly 1 there and 0 elsewhere.",
      FamilyKind::special, trait::neg_inf | trait::parts | trait::late | trait::settled},
     8,
     single_finite},
    {{"all_neg_inf", "Every logit is -inf: NaN or zeros by declared policy, never 1/V in silence.",
      FamilyKind::special,
      trait::neg_inf | trait::all_neg_inf | trait::bottom | trait::settled | trait::empty_rows},
     0,
     all_neg_inf},
    {{"pos_inf",
      "One, two or all +inf, beside finite values and -inf: the declared policy, position by position.",
      FamilyKind::special, trait::pos_inf | trait::late | trait::settled},
     8,
     pos_inf},
    {{"nan", "NaN of either sign, with and without payload, anywhere: a maximum that drops it hides it.",
      FamilyKind::special, trait::nan | trait::bottom | trait::settled},
     9,
     nan},
};

}  // namespace

std::span<const FamilyDef> special_families() { return kSpecial; }

}  // namespace assay::family_tables
