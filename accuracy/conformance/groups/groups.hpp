// SPDX-License-Identifier: Apache-2.0
// One plan per group, one or two plans per file, and what the plans share. Internal to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "accuracy/conformance/bench.hpp"
#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/inputs.hpp"

namespace assay::conformance {

std::vector<Unit> plan_families(const Planning& p);
std::vector<Unit> plan_shapes(const Planning& p);
std::vector<Unit> plan_rows(const Planning& p);
std::vector<Unit> plan_layout(const Planning& p);
std::vector<Unit> plan_repeat(const Planning& p);
std::vector<Unit> plan_calls(const Planning& p);
std::vector<Unit> plan_streams(const Planning& p);
std::vector<Unit> plan_batch(const Planning& p);
std::vector<Unit> plan_schedules(const Planning& p);
std::vector<Unit> plan_big(const Planning& p);
std::vector<Unit> plan_operands(const Planning& p);
std::vector<Unit> plan_launches(const Planning& p);

/// The row length nearest to V that the kernel's limits allow: the next allowed multiple or listed length,
/// but at least the smallest and at most the largest one. 0 stays 0. Several dense rows that must all be
/// aligned need a length that keeps them so; one row does not. Example: f16, dense=yes, alignment=8, V = 259:
/// 260 for three rows, 259 for one.
std::int64_t nearest_V(const Variant& variant, std::int64_t V, std::int64_t rows = 3);
/// The same for a number of rows: what the kernel's limits allow. 0 stays 0.
std::int64_t nearest_rows(const Limits& limits, std::int64_t rows);
/// The narrowed value if there is one; else the list, each length or number of rows replaced by the nearest
/// one that the declared limits allow.
std::vector<std::int64_t> sizes_of(const Planning& p, std::vector<std::int64_t> usual);
std::vector<std::int64_t> rows_of(const Planning& p, std::vector<std::int64_t> usual);
/// The narrowed family if there is one, else the usual ones. Empty for the probe, whose rows no family draws:
/// the group `families` plans it.
std::vector<std::string> families_of(const Planning& p, std::vector<std::string> usual);
/// The op of the cases. Their k is 5 unless narrowed, or fewer if the variant selects fewer.
Op op_of(const Planning& p);
Pick pick_of(const Planning& p, std::int64_t V);

/// k, or the largest k that a variant without empty slots accepts.
int allowed_k(const Variant& v, int k, std::int64_t V);

/// The cost of a case on the host, counted in elements: every row counts 512 more, because a short row costs
/// a block too.
double weight_of(std::int64_t rows, std::int64_t V);

// The group `families`: units of (family, V, rows), where V is the row length, with the cases of every kernel
// that takes their dtype. The callers choose what is tried: `assay check` (families.cpp) and `assay report`
// (reports/runs/plan.cpp).

/// What is tried.
struct FamilyLists {
  std::vector<std::string> families;  // of reference/, or a name that stands for a file of logits
  std::function<std::vector<std::int64_t>(const std::string& family, Dtype dtype)> sizes;
  /// Called only if the family has rows of row length V.
  std::function<std::vector<std::int64_t>(const std::string& family, Dtype dtype, std::int64_t V)> rows;
  /// Called only for an op that has a k or a threshold.
  std::function<std::vector<Pick>(const Variant& variant, const std::string& family, std::int64_t V)> picks;
  std::optional<Op> op;  // each variant's own by default
};

/// One unit for each dtype, family, V and number of rows, in that order; it has a case for each variant and
/// k. These cases share inputs and exact results. They point to their variants, which must outlive the run.
std::vector<Unit> family_units(std::span<const Variant* const> variants, const FamilyLists& lists);

/// The unit of a kernel's probes, as a case of family `probe`.
Unit probe_unit(const ConformanceCase& c);

// Plans for causal kernels: the cases of every group become squares (V rows of row length V). They are few
// enough that a check ends. Internal to this folder.

/// For a causal kernel: the number of rows of whole squares nearest to `rows`. If `rows` is more than one, at
/// least two squares while they are small. A whole number of squares stays as it is; so do the rows of any
/// other kernel.
std::int64_t whole_squares(const Variant& variant, std::int64_t V, std::int64_t rows);

/// Turns the cases of a causal kernel's group into squares; does nothing for other kernels. A case is left
/// out if it then equals another one, has more elements than a case may have, or if there are too many of its
/// size. In groups that launch the same rows again and again, shorter rows replace long ones. A case whose V
/// was asked for is never left out.
void make_squares(const Planning& p, const char* group, std::vector<Unit>& units);

/// Keeps as many of a report's large squares of each size as a quick check keeps. Every case names its
/// variant; those of kernels that are not causal all stay. Then a causal kernel takes about as long as
/// another. With as many as a whole check keeps, it took 16 % of a report's time on the host; with all 350,
/// 40 %.
void thin_squares(std::vector<Unit>& units);

}  // namespace assay::conformance
