// SPDX-License-Identifier: Apache-2.0
#include "reports/out/shard_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/hash/draws.hpp"
#include "reference/parallel.hpp"
#include "reports/build_info.hpp"
#include "reports/data/files.hpp"
#include "reports/out/command_line.hpp"

namespace assay {

template <IsA<ReadFile> F, class Visit>
void each_field(F& f, Visit& visit) {
  visit("path", f.path);
  visit("sha256", f.sha256);
}

template <IsA<ShardEnd> E, class Visit>
void each_field(E& e, Visit& visit) {
  visit("shard", e.shard);
  visit("count", e.count);
  visit("verb", e.verb);
  visit("command", e.command);
  visit("assay", e.assay);
  visit("files", e.files);
  visit("records", e.records);
  visit("status", e.status);
  visit.if_set("read", e.read);
  visit.if_set("kept", e.kept);
  visit.if_set("in_part", e.in_part);
}

namespace {

int number_in(const std::string& text, const std::string& of) {
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
    return checked(number_in(given.substr(0, slash), "--shard"),
                   number_in(given.substr(slash + 1), "--shard"), "--shard", "--shard");
  }
  constexpr const char* kVariables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : kVariables) {
    const std::string name = rank;
    if (name.starts_with("SLURM_") && !in_slurm_step()) continue;
    const char *r = std::getenv(rank), *s = std::getenv(size);
    if (r && s) return checked(number_in(r, rank), number_in(s, size), rank, name + " and " + size);
  }
  return {};
}

std::filesystem::path shard_folder(const std::filesystem::path& out, const Shard& shard) {
  return shard.count == 1 ? out : out / fmt::format("shard-{}-of-{}", shard.index, shard.count);
}

ShardEnd shard_end(const Shard& shard, std::int64_t records, int status) {
  std::vector<ReadFile> read;
  for (const auto& [path, sha256] : noted_files()) read.push_back({path, sha256});
  return {shard.index,
          shard.count,
          command_verb(),
          command_compared({"--shard"}),
          fmt::format("{} ({})", build_info::version, build_info::commit),
          hash_of_named_files(),
          records,
          status,
          std::move(read)};
}

std::string shard_text(const ShardEnd& end) { return fields_to_json(end).dump(1) + "\n"; }

ShardEnd shard_from_text(const std::string& text, const std::string& file) {
  try {
    const auto e = fields_from_json<ShardEnd>(parse_json(text));
    if (!e.files.empty() && e.files.size() != 64)
      throw InputError("was made by an older version of assay: start again");
    if (e.count < 1 || e.shard < 0 || e.shard >= e.count) throw InputError("there is no such shard");
    return e;
  } catch (const InputError& e) {
    throw InputError(file + ": " + e.what());
  }
}

ShardEnd read_shard_file(const std::filesystem::path& file) {
  return shard_from_text(read_file(file), file.string());
}

std::vector<std::size_t> dealt_to(const Shard& shard, const std::vector<double>& weights) {
  std::vector<std::size_t> mine;
  const auto order = largest_first(weights.size(), [&](std::size_t i) { return weights[i]; });
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i % static_cast<std::size_t>(shard.count) == static_cast<std::size_t>(shard.index))
      mine.push_back(order[i]);
  std::sort(mine.begin(), mine.end());
  return mine;
}

}  // namespace assay
