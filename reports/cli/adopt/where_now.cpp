// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/where_now.hpp"

#include <fmt/format.h>

#include <vector>

#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The certified file that the word names; null for a key.
const CertifiedFile* named_by(const Certificate& c) {
  for (const CertifiedFile& f : c.files)
    if (!f.path.empty() && !f.sha256.empty() && c.target.word.starts_with(f.path)) return &f;
  return nullptr;
}

}  // namespace

fs::path certificate_file(const std::string& word) {
  std::error_code none;
  return fs::is_directory(word, none) ? fs::path(word) / "certificate.json" : fs::path(word);
}

std::string word_now(const Certificate& c, const fs::path& certificate) {
  const CertifiedFile* const file = named_by(c);
  if (!file) return c.target.word;
  const fs::path recorded = file->path;
  const fs::path below = recorded.is_absolute() ? recorded.filename() : recorded;
  std::vector<fs::path> places = {recorded};
  const fs::path first = fs::absolute(certificate).lexically_normal().parent_path();
  for (fs::path folder = first;; folder = folder.parent_path()) {
    places.push_back(folder / below);
    if (folder == folder.parent_path()) break;
  }
  std::string found;
  for (const fs::path& place : places) {
    std::error_code none;
    if (!fs::is_regular_file(place, none)) continue;
    if (sha256_of_file(place) == file->sha256) {
      found = place.string();
      break;
    }
    if (found.empty()) found = place.string();
  }
  if (found.empty())
    throw InputError(fmt::format(
        "{}: no such file, neither here nor in {} or a folder above it; to name it: assay verify {} FILE",
        recorded.string(), first.string(), certificate.string()));
  return found + c.target.word.substr(file->path.size());
}

}  // namespace assay
