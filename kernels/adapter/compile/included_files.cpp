// SPDX-License-Identifier: Apache-2.0
// Follows #include from file to file, and searches folders in a compiler's order.
#include "kernels/adapter/compile/included_files.hpp"

#include <string_view>
#include <system_error>

#include "kernels/adapter/cache/build_folder.hpp"
#include "kernels/adapter/compile/host_source.hpp"
#include "kernels/adapter/entry/source_tokens.hpp"
#include "reference/error.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMostFiles = 256;

fs::path find_include(const fs::path& from, std::string_view name, bool quoted,
                      const std::vector<fs::path>& folders) {
  std::error_code error;
  if (const fs::path p = from.parent_path() / name; quoted && fs::is_regular_file(p, error))
    return fs::absolute(p).lexically_normal();
  for (const fs::path& f : folders)
    if (const fs::path p = f / name; fs::is_regular_file(p, error)) return fs::absolute(p).lexically_normal();
  return {};
}

}  // namespace

std::vector<fs::path> include_folders(const std::vector<std::string>& flags) {
  std::vector<fs::path> all;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i] == "-I" && i + 1 < flags.size())
      all.emplace_back(flags[++i]);
    else if (flags[i].starts_with("-I"))
      all.emplace_back(flags[i].substr(2));
  return all;
}

namespace {

void add_text(const fs::path& path, const std::vector<fs::path>& folders,
              std::map<fs::path, std::string>& all) {
  if (all.size() == kMostFiles || all.contains(path)) return;
  const std::string& text = all[path] = read_text(path);
  for (const SourceToken& t : source_tokens(text)) {
    if (t.kind != SourceToken::directive || t.spelling.find("include") == t.spelling.npos) continue;
    const std::size_t open = t.spelling.find_first_of("\"<");
    const std::size_t close =
        open == t.spelling.npos ? open : t.spelling.find(t.spelling[open] == '<' ? '>' : '"', open + 1);
    if (close == t.spelling.npos) continue;
    if (const fs::path p = find_include(path, t.spelling.substr(open + 1, close - open - 1),
                                        t.spelling[open] == '"', folders);
        !p.empty())
      add_text(p, folders, all);
  }
}

}  // namespace

std::map<fs::path, std::string> included_texts(const fs::path& file, const std::vector<fs::path>& folders) {
  std::map<fs::path, std::string> all;
  add_text(file, folders, all);
  return all;
}

fs::path Rewritten::of(const fs::path& path) {
  if (const auto known = done_.find(path); known != done_.end()) return known->second;
  if (sources_.size() == kMostFiles)
    throw InputError(path.string() + ": " + std::to_string(kMostFiles) + " files or more are included");
  const fs::path target = folder_ / (std::to_string(done_.size()) + "_" + path.filename().string());
  done_[path] = target;
  originals_[target] = path;
  texts_[target] =
      host_source(sources_.at(path), path.string(), [&](std::string_view name, bool quoted) -> std::string {
        if (name.starts_with("kernels/host/")) return (headers_ / name).string();
        const fs::path other = find_include(path, name, quoted, includes_);
        return sources_.contains(other) ? of(other).string() : std::string();
      });
  return target;
}

}  // namespace assay
