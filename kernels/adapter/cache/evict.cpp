// SPDX-License-Identifier: Apache-2.0
// Keeps the build folder from growing without end.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <vector>

#include "kernels/adapter/cache/build_folder.hpp"
#include "reference/error.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// A file, or a folder with all that is in it.
struct CacheEntry {
  fs::path path;
  fs::file_time_type used;
  std::uintmax_t bytes = 0;
};

CacheEntry look(const fs::directory_entry& entry) {
  std::error_code error;  // another process may remove it meanwhile
  CacheEntry s{entry.path(), entry.last_write_time(error), 0};
  if (!entry.is_directory(error)) {
    const std::uintmax_t n = entry.file_size(error);
    s.bytes = error ? 0 : n;
    return s;
  }
  fs::recursive_directory_iterator inside(entry.path(), error);
  for (; !error && inside != fs::recursive_directory_iterator(); inside.increment(error)) {
    std::error_code gone;
    // A build that is used is noted at its folder, which may be an inner one.
    if (const auto used = inside->last_write_time(gone); !gone) s.used = std::max(s.used, used);
    if (!inside->is_regular_file(gone)) continue;
    const std::uintmax_t n = inside->file_size(gone);
    if (!gone) s.bytes += n;
  }
  return s;
}

}  // namespace

void note_use(const fs::path& path) {
  std::error_code ignored;  // a folder that only others may write to is never evicted from here either
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

std::uintmax_t cache_limit() {
  constexpr std::uintmax_t kMega = 1'000'000;
  const char* const text = std::getenv("ASSAY_CACHE_MB");
  if (!text) return 2000 * kMega;
  std::uintmax_t n = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, n);
  if (read.ec != std::errc() || read.ptr != end || n > 1'000'000'000)
    throw InputError(std::string("ASSAY_CACHE_MB=") + text + ": must be a number of megabytes");
  return n * kMega;
}

void evict_old(const fs::path& folder, std::uintmax_t most) {
  std::error_code error;
  std::vector<CacheEntry> all;
  std::uintmax_t bytes = 0;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    all.push_back(look(*entries));
    bytes += all.back().bytes;
  }
  std::sort(all.begin(), all.end(), [](const CacheEntry& a, const CacheEntry& b) { return a.used < b.used; });
  const auto recent = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const CacheEntry& s : all) {
    if (bytes <= most || s.used > recent) return;
    fs::remove_all(s.path, error);
    if (!error) bytes -= s.bytes;
  }
}

}  // namespace assay
