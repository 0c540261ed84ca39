// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/shard.hpp"

#include <cstdlib>

#include "fuzz/genome_element.hpp"
#include "reference/error.hpp"

namespace assay::fuzz {
namespace {

int number(const std::string& text, const std::string& of) {
  if (text.empty() || text.size() > 7 || text.find_first_not_of("0123456789") != std::string::npos)
    throw InputError(of + ": '" + text + "' is not a whole number of at most 7 digits");
  return std::atoi(text.c_str());
}

Shard checked(int index, int count, const std::string& of, const std::string& from) {
  if (count < 1)
    throw InputError(of + ": shard " + std::to_string(index) + " of " + std::to_string(count) +
                     " does not exist");
  if (index >= count)
    throw InputError(of + ": shard " + std::to_string(index) + " of " + std::to_string(count) +
                     " does not exist: indices are from 0 to " + std::to_string(count - 1));
  return {index, count, from};
}

/// True in a process that srun started. Slurm numbers the steps of users from 0. The batch script has no
/// number, and the shell of salloc has one of Slurm's own, from 0xfffffff0 on.
bool in_slurm_step() {
  const char* const id = std::getenv("SLURM_STEP_ID");
  const std::string text = id ? id : "";
  if (text.empty() || text.size() > 10 || text.find_first_not_of("0123456789") != std::string::npos)
    return false;
  return std::strtoull(text.c_str(), nullptr, 10) < 0xfffffff0u;
}

}  // namespace

std::uint64_t Shard::seed(std::uint64_t of_all) const {
  return index == 0 ? of_all : mixed(of_all ^ mixed(static_cast<std::uint64_t>(index)));
}

std::string Shard::suffix() const {
  return count == 1 ? "" : "." + std::to_string(index) + "-of-" + std::to_string(count);
}

std::string Shard::words() const {
  return count == 1 ? "" : "part " + std::to_string(index) + " of " + std::to_string(count);
}

Shard shard_of(const std::string& given) {
  if (!given.empty()) {
    const std::size_t slash = given.find('/');
    if (slash == std::string::npos) throw InputError("--shard: must be index/count, as 0/4");
    return checked(number(given.substr(0, slash), "--shard"), number(given.substr(slash + 1), "--shard"),
                   "--shard", "--shard");
  }
  constexpr const char* kVariables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : kVariables) {
    const std::string name = rank;
    if (name.starts_with("SLURM_") && !in_slurm_step()) continue;
    const char *r = std::getenv(rank), *s = std::getenv(size);
    if (r && s) return checked(number(r, rank), number(s, size), rank, name + " and " + size);
  }
  return {};
}

std::string file_name(const std::string& key) {
  std::string s = key;
  for (char& c : s) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (!plain) c = '-';
  }
  return s;
}

std::filesystem::path corpus_file(const std::filesystem::path& folder, const std::string& key,
                                  const Shard& shard) {
  return folder / (file_name(key) + shard.suffix() + ".corpus.jsonl");
}

}  // namespace assay::fuzz
