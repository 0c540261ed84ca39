// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/loaded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "kernels/isolation/loaded/loaded_files.hpp"
#include "reference/hash/sha256.hpp"
#include "reports/adopt/replay.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The folder of the file that the word names; empty for a key or a module.
fs::path folder_of(const std::string& word) {
  std::error_code none;
  const fs::path file = path_in(word);
  return fs::is_regular_file(file, none) ? fs::weakly_canonical(file, none).parent_path() : fs::path();
}

/// The file itself, under whatever name.
fs::path plain(const fs::path& path) {
  std::error_code unknown;
  const fs::path found = fs::weakly_canonical(path, unknown);
  return unknown ? path : found;
}

/// From the folder of the kernel, so that it is the same where a project lies elsewhere.
std::string seen_from(const fs::path& folder, const std::string& path) {
  const fs::path relative = folder.empty() ? fs::path() : plain(path).lexically_relative(folder);
  return relative.empty() || *relative.begin() == ".." ? path : relative.string();
}

/// All targets are of one file, and share what it loads.
std::vector<isolation::LoadedFile> loaded_by(const std::vector<Target>& targets) {
  for (const Target& t : targets)
    if (t.variant.launcher) return t.variant.launcher->loaded_files();
  return {};
}

std::vector<CertifiedFile> loaded_now(const std::string& word, const std::vector<Target>& targets,
                                      const std::vector<CertifiedFile>& known) {
  const fs::path folder = folder_of(word);
  std::vector<CertifiedFile> all;
  for (const isolation::LoadedFile& f : loaded_by(targets)) {
    const bool listed = std::ranges::any_of(
        known, [&](const CertifiedFile& one) { return !is_loaded(one) && plain(one.path) == plain(f.path); });
    if (listed) continue;
    const bool is_file = f.role != "package" && f.role != "runtime";
    all.push_back({f.role, is_file ? seen_from(folder, f.path) : f.path, f.sha256});
  }
  return all;
}

/// Of these the contents decide. Packages and the system's libraries differ from machine to machine.
bool decides(const CertifiedFile& f) { return f.role == "library" || f.role == "module" || f.role == "data"; }

}  // namespace

void certify_loaded(AdoptionCall& c, const std::vector<Target>& targets) {
  for (CertifiedFile& f : loaded_now(c.target.word, targets, c.files)) c.files.push_back(std::move(f));
}

std::string imports_of(const std::vector<Target>& targets) {
  const std::string binary = targets.empty() ? "" : targets.front().binary;
  if (binary.empty()) return {};
  std::string names;
  for (const std::string& name : isolation::unusual_imports(binary))
    names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none that a launcher of a softmax has no need of" : names;
}

std::string changed_loaded(const Certificate& c) {
  const fs::path folder = folder_of(c.target.word);
  for (const CertifiedFile& f : c.files) {
    if (!decides(f) || f.sha256.empty()) continue;
    const fs::path path = fs::path(f.path).is_absolute() ? fs::path(f.path) : folder / f.path;
    std::error_code none;
    if (!fs::is_regular_file(path, none))
      return fmt::format("{} {}: the kernel loaded it when it was certified, and it is not there now", f.role,
                         f.path);
    if (sha256_of_file(path) != f.sha256) return fmt::format("{} {}: is of other contents", f.role, f.path);
  }
  return {};
}

std::vector<std::string> not_certified(const Certificate& c, const std::vector<Target>& targets) {
  std::vector<std::string> all;
  for (const CertifiedFile& now : loaded_now(c.target.word, targets, c.files)) {
    const bool there = std::ranges::any_of(
        c.files, [&](const CertifiedFile& then) { return then.path == now.path && decides(then); });
    if (decides(now) && !there)
      all.push_back(fmt::format("{} {}: the kernel loads it, and the certificate has no hash of it", now.role,
                                now.path));
  }
  return all;
}

}  // namespace assay
