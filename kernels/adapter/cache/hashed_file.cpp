// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/cache/hashed_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
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
  // A line is a hash, what the file system says, a tab and the path.
  std::ifstream in(file_, std::ios::binary);
  for (std::string line; std::getline(in, line);)
    if (const std::size_t tab = line.find('\t'); tab != line.npos && tab > kDigits && line[kDigits] == ' ')
      known_[line.substr(tab + 1)] = {line.substr(kDigits + 1, tab - kDigits - 1), line.substr(0, kDigits)};
}

std::string SystemHashes::of(const std::filesystem::path& file) {
  struct stat s {};
  if (stat(file.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) throw InputError(file.string() + ": is no file");
  const std::string state =
      fmt::format("{} {} {} {}.{:09} {}.{:09}", s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec,
                  s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
  const std::string path = file.string();
  if (const auto at = known_.find(path); at != known_.end() && at->second.state == state)
    return at->second.sha256;
  std::string hash = sha256_of_file(file);
  if (path.find('\n') == path.npos && time(nullptr) - s.st_ctim.tv_sec > kSettledSeconds) {
    known_[path] = {state, hash};
    more_ = true;
  }
  return hash;
}

void SystemHashes::remember() {
  if (!more_) return;
  std::string text;
  for (const auto& [path, known] : known_) text += known.sha256 + " " + known.state + "\t" + path + "\n";
  write_text(file_, text);
  more_ = false;
}

}  // namespace assay
