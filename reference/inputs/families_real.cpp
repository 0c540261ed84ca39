// SPDX-License-Identifier: Apache-2.0
// Families from the committed tensors: rows of a real model, bit for bit if a file has the dtype, otherwise
// rounded from a wider file.
#include <filesystem>
#include <map>
#include <mutex>

#include "reference/error.hpp"
#include "reference/files/npy.hpp"
#include "reference/inputs/families.hpp"

namespace assay::family_tables {
namespace {

// A file is read once per process and kept. Map nodes do not move, so references stay valid after the lock.
const Tensor& committed(const char* file) {
  static std::mutex mutex;
  static std::map<std::string, Tensor> read;
  const std::string path = (std::filesystem::path(data_directory()) / file).string();
  const std::lock_guard lock(mutex);
  const auto found = read.find(path);
  return found != read.end() ? found->second : read.emplace(path, read_npy(path)).first->second;
}

// $ASSAY_DATA may name another folder, so the shape is checked before anything relies on it.
const Tensor& committed(const char* file, Dtype dtype, std::int64_t rows, std::int64_t V) {
  const Tensor& t = committed(file);
  if (t.dtype != dtype || t.rows != rows || t.V != V)
    throw InputError((std::filesystem::path(data_directory()) / file).string() + ": expected " +
                     std::to_string(rows) + " rows of " + std::to_string(V) + " in " + name(dtype));
  return t;
}

void copy(Row& r, const Tensor& from, std::int64_t row) {
  const std::byte* source = from.row(row);
  for (std::int64_t i = 0; i < r.V; ++i) r.set(i, decode(from.dtype, load_bits(from.dtype, source, i)));
}

void gpt_logits(Row& r) {
  const Tensor& t = r.dtype == Dtype::f16 ? committed("gpt_logits_f16_64x32000.npy", Dtype::f16, 64, 32000)
                                          : committed("gpt_logits_f32_24x32000.npy", Dtype::f32, 24, 32000);
  const auto start = static_cast<std::int64_t>(r.seed % static_cast<std::uint64_t>(t.rows));
  copy(r, t, (r.index + start) % t.rows);
}

// Row q of a 512 x 512 matrix has q + 1 finite scores. First come the shortest, the full and the half prefix,
// then any queries. The six matrices (layers and heads) take turns.
void attention_causal(Row& r) {
  const Tensor& t = committed("gpt_attention_scores_f16_6x512x512.npy", Dtype::f16, 6 * 512, 512);
  const std::int64_t query[] = {0, 511, r.V / 2, r.random.below(512)};
  const auto start = static_cast<std::int64_t>(r.seed % 6);
  copy(r, t, (r.index + start) % 6 * 512 + query[r.index % 4]);
}

constexpr FamilyDef kReal[] = {
    {{"gpt_logits",
      "Next-token logits of a real model: one winner, a long tail, and most probabilities too small for f16.",
      FamilyKind::real},
     0,
     gpt_logits,
     32000},
    {{"attention_causal",
      "Real attention scores under a causal mask: -inf after a prefix of any length, down to one finite "
      "score.",
      FamilyKind::real, trait::neg_inf},
     0,
     attention_causal,
     512},
};

}  // namespace

std::span<const FamilyDef> real_families() { return kReal; }

}  // namespace assay::family_tables
