// SPDX-License-Identifier: Apache-2.0
// Finds the build folder and writes into it what is to be compiled.
#include "kernels/adapter/cache/build_folder.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "kernels/adapter/embedded.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/paths.hpp"

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

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!fs::is_regular_file(path) || !in || !(text << in.rdbuf() || text.str().empty()))
    throw InputError(path.string() + ": cannot be read");
  return text.str();
}

void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  const fs::path part = unique_part(path);
  std::ofstream out(part, std::ios::binary);
  out << text;
  out.close();
  if (!out) {
    const int why = errno;
    std::error_code ignored;
    fs::remove(part, ignored);
    throw_unwritten(path, why);
  }
  fs::rename(part, path);
}

namespace {

/// Of a folder whose name anybody can make first: true if nobody else can write in it.
bool is_own(const fs::path& folder) {
  struct stat s {};
  return lstat(folder.c_str(), &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
         (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

fs::path build_folder(const std::string& asked) {
  fs::path p = asked;
  if (p.empty()) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache && *cache == '/')
      p = fs::path(cache) / "assay";
    else if (home && *home == '/' && access(home, W_OK) == 0)
      p = fs::path(home) / ".cache/assay";
    else
      p = fs::temp_directory_path() / ("assay-" + std::to_string(getuid()));
  }
  std::error_code error;
  // Without a home it lies where all users write.
  const bool shared = asked.empty() && p.parent_path() == fs::temp_directory_path();
  if (shared) mkdir(p.c_str(), 0700);
  if (shared && !is_own(p))
    throw InputError(p.string() +
                     ": is another user's, or others write in it: --build-dir or HOME says where to build");
  fs::create_directories(p, error);
  if (error || access(p.c_str(), W_OK) != 0)
    throw InputError(p.string() + ": the build folder cannot be written");
  return fs::absolute(p);
}

const std::string& embedded_sha256() {
  static const std::string hash = [] {
    Sha256 all;
    for (const EmbeddedText& t : embedded_texts()) all.add(sha256_of(t.path) + sha256_of(t.text));
    return all.hex();
  }();
  return hash;
}

std::string plain_name(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 80))
    text += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ? c : '_';
  return text.starts_with('-') ? "_" + text : text;
}

namespace {

void write_if_other(const fs::path& path, std::string_view text) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error)) || read_text(path) != text)
    write_text(path, text);
}

std::string with_whole_paths(std::string text, const fs::path& folder) {
  const std::string begin = "#include \"";
  for (std::size_t at = 0; (at = text.find(begin, at)) != text.npos;) {
    at += begin.size();
    const std::string name = text.substr(at, text.find('"', at) - at);
    if (std::ranges::any_of(embedded_texts(), [&](const EmbeddedText& t) { return t.path == name; }))
      text.insert(at, folder.string() + "/");
  }
  return text;
}

}  // namespace

fs::path write_headers(const fs::path& build) {
  // Another version of this program writes others of the same texts.
  const fs::path folder = build / ("headers-" + sha256_of("whole paths " + embedded_sha256()).substr(0, 16));
  for (const EmbeddedText& t : embedded_texts()) {
    // They include each other by the whole path, so that an author's file is compiled without a folder in
    // which it could look for them (__has_include).
    write_if_other(folder / t.path, with_whole_paths(std::string(t.text), folder));
    // The public headers are C++17 and end in .h.
    if (const fs::path name = fs::path(t.path).filename(); name.extension() == ".h")
      write_if_other(folder / "assay" / name, t.text);
  }
  note_use(folder);
  return folder;
}

// Keeps the build folder from growing without end.

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

namespace {

namespace fs = std::filesystem;

constexpr const char* kSeal = "seal";
constexpr std::string_view kFormat = "assay build 1";
/// Digits of a hash in a name. The seal holds all of them.
constexpr std::size_t kShort = 16, kHashDigits = 64;

/// The whole seal, or nothing.
struct Seal {
  std::string key, sha256, note;
  std::vector<HashedFile> read;
};
std::optional<Seal> seal_in(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return {};
  std::istringstream in(read_text(file));
  std::string line;
  Seal s;
  if (!std::getline(in, line) || line != kFormat) return {};
  if (!std::getline(in, s.key) || !std::getline(in, s.sha256) || s.sha256.size() != kHashDigits) return {};
  if (!std::getline(in, s.note)) return {};
  while (std::getline(in, line)) {
    if (line == "end") return s;
    if (line.size() < kHashDigits + 2) return {};
    s.read.push_back({line.substr(kHashDigits + 1), line.substr(0, kHashDigits)});
  }
  return {};
}

}  // namespace

BuildPlace::BuildPlace(const fs::path& folder, std::string_view stem, std::string key, std::string suffix)
    : folder_(folder / (plain_name(stem) + "-" + key.substr(0, kShort))),
      key_(std::move(key)),
      suffix_(std::move(suffix)) {}

std::optional<SealedBuild> BuildPlace::find(SystemHashes& hashes, std::string& changed) const {
  const std::optional<Seal> seal = seal_in(folder_ / kSeal);
  if (!seal || seal->key != key_) return {};
  const fs::path file = folder_ / (seal->sha256.substr(0, kShort) + suffix_);
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(file, error))) return {};
  if (sha256_of_file(file) != seal->sha256) {
    changed = file.string() + ": is not what was built: its SHA-256 is another one; it is built anew";
    return {};
  }
  for (const HashedFile& f : seal->read) {
    if (!fs::is_regular_file(f.path, error) || hashes.of(f.path) != f.sha256) return {};
  }
  note_use(folder_);
  return SealedBuild{file, seal->sha256, seal->read, seal->note};
}

SealedBuild BuildPlace::keep(const fs::path& part, std::vector<HashedFile> read,
                             const std::string& note) const {
  SealedBuild made{{}, sha256_of_file(part), std::move(read), note.substr(0, note.find('\n'))};
  made.path = folder_ / (made.sha256.substr(0, kShort) + suffix_);
  fs::create_directories(folder_);
  fs::rename(part, made.path);
  std::string text = std::string(kFormat) + "\n" + key_ + "\n" + made.sha256 + "\n" + made.note + "\n";
  for (const HashedFile& f : made.read) text += f.sha256 + " " + f.path + "\n";
  // A name of two lines can not stand in the seal. Without one it is built anew the next time.
  if (std::none_of(made.read.begin(), made.read.end(),
                   [](const HashedFile& f) { return f.path.find('\n') != f.path.npos; }))
    write_text(folder_ / kSeal, text + "end\n");
  return made;
}

}  // namespace assay
