// SPDX-License-Identifier: Apache-2.0
// Families by name, the report's row counts, and rows made from a family's table line. This file decides,
// from (family, dtype, V, row, seed) alone, which case a row shows and which random numbers it gets.
#include "reference/inputs/inputs.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "reference/error.hpp"
#include "reference/inputs/families.hpp"
#include "reference/parallel.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

using family_tables::FamilyDef;

// All tables in report order, followed by the families that no report tries by itself. `list` is the same
// list for families().
struct Tables {
  std::vector<FamilyDef> defs;
  std::vector<Family> list;
  std::size_t tried = 0;  // every command tries the first `tried` families

  Tables() {
    take([](const Family& f) { return !f.group; });
    tried = list.size();
    take([](const Family& f) { return f.group != nullptr; });
  }

 private:
  void take(bool (*wanted)(const Family&)) {
    for (auto table : {family_tables::real_families(), family_tables::ordinary_families(),
                       family_tables::extreme_families(), family_tables::special_families(),
                       family_tables::check_families()})
      for (const FamilyDef& d : table) {
        if (!wanted(d.family)) continue;
        defs.push_back(d);
        list.push_back(d.family);
      }
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

const FamilyDef& definition(const Family& family) {
  for (const FamilyDef& d : tables().defs)
    if (std::string_view(d.family.name) == family.name) return d;
  throw InputError("unknown family " + std::string(family.name));
}

std::uint64_t hash(std::string_view s) {
  std::uint64_t h = 0;
  for (char c : s) h = mixed(h ^ static_cast<unsigned char>(c));
  return h;
}

constexpr std::int64_t kSizes[] = {0,   1,    2,    31,   32,   33,   63,    127,   128,
                                   129, 1000, 1023, 1024, 1025, 4099, 32000, 50257, 128256};
constexpr std::int64_t kQuickSizes[] = {0, 1, 33, 129, 4099, 32000};
constexpr std::int64_t kLong = 2048;  // from this V on the report runs one row

// Short rows show one case after another. A report has only one long row per V and dtype, so each of these
// starts at another case (the kernels have 3 dtypes; 7 is coprime to every number of cases).
std::int64_t which_case(const FamilyDef& d, Dtype dtype, std::int64_t V, std::int64_t row,
                        std::uint64_t seed) {
  if (d.cases == 0) return 0;
  std::uint64_t start = 0;
  if (V >= kLong) {
    for (std::int64_t size : kSizes) start += size >= kLong && size < V ? 3 : 0;
    start = 7 * (start + static_cast<std::uint64_t>(dtype)) + seed % static_cast<std::uint64_t>(d.cases);
  }
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(row) + start) %
                                   static_cast<std::uint64_t>(d.cases));
}

// The random numbers do not depend on the dtype: an f16 row is the f32 row rounded, so dtypes can be
// compared.
std::uint64_t stream_of(const FamilyDef& d, std::int64_t V, std::uint64_t seed) {
  return mixed(mixed(hash(d.family.name) ^ seed) ^ static_cast<std::uint64_t>(V));
}

void fill_row(const FamilyDef& d, Dtype dtype, std::int64_t V, std::int64_t row, std::uint64_t seed,
              std::uint64_t stream, std::byte* out) {
  family_tables::Row r{dtype, V,
                       row,   which_case(d, dtype, V, row, seed),
                       seed,  family_tables::Random(mixed(stream ^ static_cast<std::uint64_t>(row))),
                       out};
  d.fill(r);
}

}  // namespace

void family_tables::draw_row(std::string_view family, Dtype dtype, std::int64_t V, std::int64_t index,
                             std::uint64_t seed, std::byte* out) {
  const FamilyDef& d = definition(family_named(family));
  fill_row(d, dtype, V, index, seed, stream_of(d, V, seed), out);
}

std::span<const Family> all_families() { return tables().list; }

std::span<const Family> families() { return all_families().first(tables().tried); }

const Family* find_family(std::string_view name) {
  for (const Family& f : all_families())
    if (name == f.name) return &f;
  return nullptr;
}

const Family& family_named(std::string_view name) {
  if (const Family* f = find_family(name)) return *f;
  std::vector<std::string> known;
  for (const Family& f : all_families()) known.emplace_back(f.name);
  throw InputError("--family " + std::string(name) + ": unknown; assay list --families names them all" +
                   did_you_mean(name, known));
}

trait::Set traits_of(std::string_view name) {
  const Family* f = find_family(name);
  return f ? f->traits : 0;
}

std::span<const std::int64_t> report_sizes() { return kSizes; }
std::span<const std::int64_t> quick_report_sizes() { return kQuickSizes; }

// An empty row has nothing to attack, so few families suffice.
bool applies(const Family& family, Dtype, std::int64_t V) {
  const FamilyDef& d = definition(family);
  return V > 0 ? V <= d.max_V : V == 0 && (d.family.traits & trait::empty_rows);
}

std::int64_t longest_row(const Family& family) { return definition(family).max_V; }

std::int64_t report_rows(const Family& family, Dtype dtype, std::int64_t V, bool full) {
  if (!applies(family, dtype, V)) return 0;
  const FamilyDef& d = definition(family);
  if (d.rows) return d.rows(V, full);
  if (V == 0) return 2;
  if (d.cases > 0) return V < kLong || full ? d.cases : 1;
  const std::int64_t rows = V <= 129 ? 4 : V < kLong ? 3 : 1;
  return !full ? rows : V < kLong ? 8 * rows : 3;
}

std::int64_t quick_rows(const Family& family, Dtype dtype, std::int64_t V) {
  const FamilyDef& d = definition(family);
  if (d.quick_rows) return applies(family, dtype, V) ? d.quick_rows(V) : 0;
  return std::min<std::int64_t>(report_rows(family, dtype, V, false), V > kLong ? 1 : 8);
}

std::int64_t drawn_rows(const Family& family, Dtype dtype, std::int64_t V, std::int64_t usual) {
  if (definition(family).quick_rows) return usual;
  return std::min<std::int64_t>(8, report_rows(family, dtype, std::min<std::int64_t>(V, 1025), false));
}

Tensor make_input(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed,
                  int threads) {
  const FamilyDef& d = definition(family);
  if (!applies(family, dtype, V))
    throw InputError("family " + std::string(family.name) + " has no rows of V = " + std::to_string(V));
  if (rows < 0) throw InputError("rows must be 0 or more, got " + std::to_string(rows));
  if (V > 0 && rows > (std::int64_t{1} << 46) / V) throw InputError("rows x V exceeds 2^46 elements");
  Tensor tensor(dtype, rows, V);
  if (V == 0) return tensor;
  const std::uint64_t stream = stream_of(d, V, seed);
  parallel_for(static_cast<std::size_t>(rows), threads, [&](std::size_t i) {
    const auto row = static_cast<std::int64_t>(i);
    fill_row(d, dtype, V, row, seed, stream, tensor.row(row));
  });
  return tensor;
}

std::string data_directory() {
  if (const char* set = std::getenv("ASSAY_DATA"); set && *set) return set;
  std::error_code error;
  const auto exe = std::filesystem::read_symlink("/proc/self/exe", error);
  // beside the executable in a bundle, and in an installation
  const bool known = !error;
  for (const char* beside : {"data", "../share/assay/data"})
    if (const auto folder = exe.parent_path() / beside; known && std::filesystem::is_directory(folder, error))
      return folder.lexically_normal().string();
  return ASSAY_SOURCE_DIR "/reference/data";
}

}  // namespace assay
