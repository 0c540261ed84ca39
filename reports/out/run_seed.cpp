// SPDX-License-Identifier: Apache-2.0
#include "reports/out/run_seed.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reports/out/command_line.hpp"
#include "reports/out/journal.hpp"
#include "reports/out/shard_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSeed = "seed";
constexpr const char* kSeedFrom = "seed from";
constexpr const char* kDrawn = "drawn for this run";

/// The seed in the command that the first line of such a file holds.
std::optional<std::uint64_t> seed_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  if (!std::getline(in, line)) return {};
  nlohmann::json head = nlohmann::json::parse(line, nullptr, false);
  if (head.is_discarded()) {  // the file of a finished part has several lines
    in.seekg(0);
    head = nlohmann::json::parse(in, nullptr, false);
  }
  if (!head.is_object() || !head.contains("command") || !head["command"].is_string()) return {};
  const std::string command = head["command"].get<std::string>();
  constexpr std::string_view kOption = " --seed ";
  const std::size_t at = command.rfind(kOption);
  if (at == command.npos) return {};
  std::uint64_t seed = 0;
  const char* const from = command.data() + at + kOption.size();
  const auto read = std::from_chars(from, command.data() + command.size(), seed);
  return read.ec == std::errc() ? std::optional(seed) : std::nullopt;
}

/// The seed of what lies unfinished in the folder: of one run, or of its parts.
std::optional<std::uint64_t> unfinished_seed(const fs::path& folder) {
  if (const auto seed = seed_in(folder / kUnfinished)) return seed;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (!entry.path().filename().string().starts_with("shard-")) continue;
    for (const char* const name : {kUnfinished, kShardFile})
      if (const auto seed = seed_in(entry.path() / name)) return seed;
  }
  return {};
}

}  // namespace

std::uint64_t fresh_seed() {
  // All of its digits are exact in a double, as which many programs read the numbers of JSON.
  constexpr std::uint64_t kBits = (std::uint64_t{1} << 48) - 1;
  for (;;) {
    std::uint64_t word = 0;
    const ssize_t n = getrandom(&word, sizeof word, 0);
    if (n < 0 && errno != EINTR)
      throw EnvironmentError(std::string("no seed can be drawn: ") + std::strerror(errno) +
                             ": give one with --seed");
    if (n == sizeof word && (word & kBits) != 0) return word & kBits;
  }
}

void settle(RunSeed& seed, const fs::path& folder, bool resume) {
  const std::optional<std::uint64_t> earlier = !seed.given && resume ? unfinished_seed(folder) : std::nullopt;
  seed.drawn = !seed.given;
  seed.value = seed.given ? *seed.given : earlier ? *earlier : fresh_seed();
  set_option_of_command("--seed", std::to_string(seed.value));
}

void require_common_seed(const RunSeed& seed, int parts) {
  if (parts > 1 && !seed.given)
    throw InputError(
        "--shard: needs --seed, the same number for every part: without it each part would draw its own");
}

void add_seed(std::vector<std::pair<std::string, std::string>>& environment, const RunSeed& seed) {
  std::erase_if(environment, [](const auto& fact) { return fact.first == kSeed || fact.first == kSeedFrom; });
  environment.emplace_back(kSeed, std::to_string(seed.value));
  environment.emplace_back(kSeedFrom, seed.drawn ? kDrawn : "--seed");
}

std::string seed_line(const std::vector<std::pair<std::string, std::string>>& environment) {
  std::string seed;
  bool drawn = false;
  for (const auto& [label, value] : environment) {
    if (label == kSeed) seed = value;
    if (label == kSeedFrom) drawn = value == kDrawn;
  }
  if (seed.empty()) return {};
  return fmt::format("seed {}{}: --seed {} repeats this run\n", seed, drawn ? ", " + std::string(kDrawn) : "",
                     seed);
}

}  // namespace assay
