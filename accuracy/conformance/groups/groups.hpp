// One plan per group, one file per plan or two, and what the plans share. Internal to this folder.
#pragma once

#include <initializer_list>
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

/// The row length that a kernel is made for nearest to V: the next multiple, the shortest or the longest. 0
/// stays 0. Of dense rows that all start at multiples of `alignment` the length is a multiple, too. Example:
/// dense rows of f16 with alignment=8: 260 for 259.
std::int64_t nearest_V(const Variant& variant, std::int64_t V);
/// The same of a number of rows: at least what the kernel declares. 0 stays 0.
std::int64_t nearest_rows(const Limits& limits, std::int64_t rows);
/// The narrowed value alone, else the list, each length or number of rows as near as the declared limits allow.
std::vector<std::int64_t> sizes_of(const Planning& p, std::vector<std::int64_t> usual);
std::vector<std::int64_t> rows_of(const Planning& p, std::vector<std::int64_t> usual);
std::vector<std::string> families_of(const Planning& p, std::vector<std::string> usual);
/// The op of the cases, and the k: 5 unless narrowed or the variant selects fewer.
Op op_of(const Planning& p);
int k_of(const Planning& p, std::int64_t V);

/// k, or the largest that a variant without empty slots takes.
int allowed_k(const Variant& v, int k, std::int64_t V);

/// Time of a case on the host, in elements: short rows cost a block all the same.
double weight_of(std::int64_t rows, std::int64_t V);

}  // namespace assay::conformance
