// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/hidden.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include "kernels/isolation/process/sandbox.hpp"

namespace assay::isolation {
namespace {

namespace fs = std::filesystem;

struct Hidden {
  std::mutex mutex;
  std::set<std::string> folders;
};
Hidden& hidden() {
  static Hidden all;
  return all;
}

/// What workers load, and where they run.
std::set<std::string> needed() {
  std::error_code ignored;
  std::set<std::string> places = {fs::current_path(ignored).string(),
                                  fs::read_symlink("/proc/self/exe", ignored).parent_path().string()};
  for (const std::string& place : shown_places())
    places.insert(fs::weakly_canonical(place, ignored).string());
  return places;
}

}  // namespace

void sandbox_hides(const std::string& folder) {
  std::error_code error;
  const std::string whole = fs::weakly_canonical(fs::absolute(folder, error), error).string();
  if (error || whole.empty()) return;
  const std::lock_guard<std::mutex> lock(hidden().mutex);
  hidden().folders.insert(whole);
}

std::vector<std::string> hidden_folders() {
  const std::set<std::string> places = needed();
  std::vector<std::string> all;
  std::error_code ignored;
  const std::lock_guard<std::mutex> lock(hidden().mutex);
  // A folder inside one that is hidden is hidden with it. The outer one comes first.
  const auto inside = [&](const std::string& folder) {
    return std::ranges::any_of(all,
                               [&](const std::string& outer) { return folder.starts_with(outer + "/"); });
  };
  for (const std::string& folder : hidden().folders)
    if (!places.contains(folder) && !inside(folder) && fs::is_directory(folder, ignored))
      all.push_back(folder);
  return all;
}

std::vector<std::string> hiding_words() {
  std::vector<std::string> words;
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  const std::set<std::string> places = needed();
  for (const std::string& folder : hidden_folders()) {
    add({"--tmpfs", folder});
    for (const std::string& place : places)
      if (place.starts_with(folder + "/")) add({"--ro-bind", place, place});
    add({"--remount-ro", folder});
  }
  return words;
}

std::vector<std::string> unreadable_words() {
  std::vector<std::string> words;
  const std::set<std::string> places = needed();
  for (const std::string& folder : hidden_folders()) {
    words.insert(words.end(), {"--hide", folder});
    for (const std::string& place : places)
      if (place.starts_with(folder + "/")) words.insert(words.end(), {"--show", place});
  }
  return words;
}

}  // namespace assay::isolation
