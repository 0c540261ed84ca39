// Families by name, the report's plan, and rows made from a family's line. Which case a row shows and
// which random numbers it gets are decided here, from (family, dtype, V, row, seed) alone.
#include "reference/inputs.hpp"

#include <cstdlib>
#include <filesystem>

#include "reference/error.hpp"
#include "reference/families.hpp"

namespace assay {
namespace {

using family_tables::FamilyDef;
using family_tables::mix;

// The tables one after another, in report order; `list` mirrors them for families().
struct Tables {
  std::vector<FamilyDef> defs;
  std::vector<Family> list;

  Tables() {
    for (auto table : {family_tables::real_families(), family_tables::ordinary_families(),
                       family_tables::extreme_families(), family_tables::special_families()})
      for (const FamilyDef& d : table) {
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
  for (char c : s) h = mix(h ^ static_cast<unsigned char>(c));
  return h;
}

constexpr std::int64_t kSizes[] = {0,   1,    2,    31,   32,   33,   63,    127,   128,
                                   129, 1000, 1023, 1024, 1025, 4099, 32000, 50257, 128256};
constexpr std::int64_t kLong = 2048;  // from here on the report runs one row

// Short rows show case after case. Of long ones a report has one per V and dtype: each of these then
// starts at another case (3 dtypes of the kernels; 7 shares no factor with any number of cases).
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

}  // namespace

std::span<const Family> families() { return tables().list; }

const Family* find_family(std::string_view name) {
  for (const Family& f : families())
    if (name == f.name) return &f;
  return nullptr;
}

std::span<const std::int64_t> report_sizes() { return kSizes; }

// An empty row has nothing to attack: two families, one ordinary and one special, stand for all.
bool applies(const Family& family, Dtype, std::int64_t V) {
  const std::string_view name = family.name;
  if (V <= 0) return V == 0 && (name == "normal_1" || name == "all_neg_inf");
  return V <= definition(family).max_V;
}

std::int64_t report_rows(const Family& family, Dtype dtype, std::int64_t V, bool full) {
  if (!applies(family, dtype, V)) return 0;
  const FamilyDef& d = definition(family);
  if (V == 0) return 2;
  if (d.rows) return d.rows(V, full);
  if (d.cases > 0) return V < kLong || full ? d.cases : 1;
  const std::int64_t rows = V <= 129 ? 4 : V < kLong ? 3 : 1;
  return !full ? rows : V < kLong ? 8 * rows : 3;
}

// The dtype does not enter the random numbers: a f16 row is the f32 row rounded, so dtypes compare.
Tensor make_input(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed) {
  const FamilyDef& d = definition(family);
  if (!applies(family, dtype, V))
    throw InputError("family " + std::string(family.name) + " has no rows of V = " + std::to_string(V));
  if (rows < 0) throw InputError("rows must be 0 or more, got " + std::to_string(rows));
  if (V > 0 && rows > (std::int64_t{1} << 46) / V) throw InputError("rows x V exceeds 2^46 elements");
  Tensor tensor(dtype, rows, V);
  if (V == 0) return tensor;
  const std::uint64_t stream = mix(mix(hash(family.name) ^ seed) ^ static_cast<std::uint64_t>(V));
  for (std::int64_t row = 0; row < rows; ++row) {
    family_tables::Row r{dtype,
                         V,
                         row,
                         which_case(d, dtype, V, row, seed),
                         seed,
                         family_tables::Random(mix(stream ^ static_cast<std::uint64_t>(row))),
                         tensor.row(row)};
    d.fill(r);
  }
  return tensor;
}

std::string data_directory() {
  if (const char* set = std::getenv("ASSAY_DATA"); set && *set) return set;
  std::error_code error;
  const auto exe = std::filesystem::read_symlink("/proc/self/exe", error);
  // In a bundle, and in an installation.
  for (const char* beside : {"data", "../share/assay/data"})
    if (const auto folder = exe.parent_path() / beside;
        !error && std::filesystem::is_directory(folder, error))
      return folder.lexically_normal().string();
  return ASSAY_SOURCE_DIR "/reference/data";
}

}  // namespace assay
