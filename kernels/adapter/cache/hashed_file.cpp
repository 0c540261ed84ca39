// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/cache/hashed_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"

namespace assay {
namespace {

/// A file that changed just now may change again in the same tick of the file system's clock.
constexpr std::int64_t kSettledSeconds = 3;
constexpr std::size_t kDigits = 64;

}  // namespace

SystemHashes::SystemHashes(std::filesystem::path folder) : file_(std::move(folder) / "system-hashes") {
  std::ifstream in(file_, std::ios::binary);
  for (std::string line; std::getline(in, line);)
    if (line.size() > kDigits + 1 && line[kDigits] == ' ')
      known_[line.substr(kDigits + 1)] = line.substr(0, kDigits);
}

std::string SystemHashes::of(const std::filesystem::path& file) {
  struct stat s {};
  if (stat(file.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) throw InputError(file.string() + ": is no file");
  const std::string key =
      fmt::format("{} {} {} {}.{:09} {}.{:09} {}", s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec,
                  s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec, file.string());
  if (const auto at = known_.find(key); at != known_.end()) return at->second;
  std::string hash = sha256_of_file(file);
  if (key.find('\n') == key.npos && time(nullptr) - s.st_ctim.tv_sec > kSettledSeconds) {
    known_[key] = hash;
    more_ = true;
  }
  return hash;
}

void SystemHashes::remember() {
  if (!more_) return;
  std::string text;
  for (const auto& [key, hash] : known_) text += hash + " " + key + "\n";
  write_text(file_, text);
  more_ = false;
}

}  // namespace assay
