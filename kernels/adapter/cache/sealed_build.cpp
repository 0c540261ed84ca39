// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/cache/sealed_build.hpp"

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <system_error>
#include <utility>

#include "kernels/adapter/cache/build_folder.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"

namespace assay {
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
