// SPDX-License-Identifier: Apache-2.0
#include "reports/out/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/isolation/loaded/loaded_files.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/paths.hpp"
#include "reports/build_info.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/out/command_line.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr int kVersion = 2;

std::string dumped(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace) + "\n"; }

/// As about.json has it. Of an adoption, whose facts of functions do not say themselves where they were made.
std::string machine() {
  std::string words;
  if (command_verb() == "adopt")
    for (const auto& [label, value] : environment())
      if (label == "CPU" || label == "GPU")
        words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", label, value);
  return words;
}

json journal_head() {
  return {{"assay_unfinished", kVersion},
          {"command", command_compared()},
          {"assay", fmt::format("{} ({})", build_info::version, build_info::commit)},
          {"machine", machine()},
          {"files", hash_of_read_files()},
          {"binaries", hash_of_binaries()}};
}

constexpr const char* kLoaded = "loaded files";

/// Throws InputError if a file that the kernels loaded is another one by now.
void require_unchanged(const json& loaded, const std::filesystem::path& journal) {
  for (const auto& [path, hash] : loaded.items()) {
    std::error_code ignored;
    const bool there = std::filesystem::is_regular_file(path, ignored);
    if (there && hash == sha256_of_file(path)) continue;
    throw InputError(fmt::format(
        "--resume: {} is of other contents of {}, which the kernel loads: leave out --resume to begin again",
        journal.string(), path));
  }
}

}  // namespace

Journal::Journal(const OutFolder& folder, bool resume) : path_(folder / kUnfinished) {
  const bool exists = std::filesystem::exists(path_);
  if (exists && resume) {
    read_earlier();
    say("going on with {} finished of {}\n", found_, path_.string());
  } else if (exists) {
    const std::filesystem::path old = folder / "unfinished.old.jsonl";
    std::error_code ignored;
    std::filesystem::rename(path_, old, ignored);
    say("{}: of a run that did not end, set aside as {} (--resume would have gone on with it)\n",
        path_.string(), old.filename().string());
  } else if (resume) {
    say("--resume: {} has no unfinished run: from the beginning\n", folder.path().string());
  }
  finished_ = found_;
  // For tests: "20 9" ends the process by signal 9 after 20 entries.
  if (const char* const when = std::getenv("ASSAY_TEST_END_AFTER")) {
    std::istringstream words(when);
    words >> end_after_ >> end_by_;
  }
  out_.emplace(path_);
  if (found_ == 0) {
    std::filesystem::resize_file(path_, 0);
    out_->append(dumped(journal_head()));
  }
}

Journal::~Journal() {
  if (read_ >= 0) close(read_);
  if (finished_ == 0) finish();  // a call that was wrong leaves nothing
}

void Journal::read_earlier() {
  std::ifstream in(path_, std::ios::binary);
  std::size_t offset = 0, whole = 0;
  int number = 0;
  for (std::string line; std::getline(in, line); offset += line.size() + 1) {
    ++number;
    if (in.eof()) break;  // the last line has no end: its record is lost
    json j = json::parse(line, nullptr, false);
    const bool good = j.is_object() && (number == 1 ? j.contains("assay_unfinished")
                                                    : j.contains("case") && j["case"].is_string());
    if (!good) {
      if (in.peek() == std::ifstream::traits_type::eof()) break;  // torn
      throw InputError(fmt::format("{}: line {}: is not of an unfinished run", path_.string(), number));
    }
    whole = offset + line.size() + 1;
    if (number > 1 && j["case"] == kLoaded) {
      require_unchanged(j["what"], path_);
      continue;
    }
    if (number > 1) {
      earlier_[j["case"].get<std::string>()].push_back({offset, line.size()});
      ++found_;
      continue;
    }
    const json now = journal_head();
    if (j["assay_unfinished"] != kVersion)
      throw InputError(
          fmt::format("--resume: {} was made by an older version of assay: leave out --resume to begin again",
                      path_.string()));
    for (const auto& [field, what] :
         {std::pair{"command", "another command"}, std::pair{"assay", "another version of assay"},
          std::pair{"machine", "another machine"},
          std::pair{"files", "other contents of the files that the command names, or that these include"},
          std::pair{"binaries", "another binary of the kernel"}}) {
      const bool words = std::string_view(field) != "files" && std::string_view(field) != "binaries";
      const std::string then = j.contains(field) && j[field].is_string() ? j[field].get<std::string>() : "";
      if (then != now[field].get<std::string>())
        throw InputError(fmt::format("--resume: {} is of {}{}: leave out --resume to begin again",
                                     path_.string(), what, words ? ": " + then : ""));
    }
  }
  in.close();
  std::filesystem::resize_file(path_, whole);
  for (auto& [name, places] : earlier_) std::reverse(places.begin(), places.end());
  read_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
}

std::optional<json> Journal::take(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto at = earlier_.find(name);
  if (at == earlier_.end() || at->second.empty()) return {};
  const Place place = at->second.back();
  at->second.pop_back();
  std::string line(place.size, '\0');
  if (pread(read_, line.data(), line.size(), static_cast<off_t>(place.offset)) !=
      static_cast<ssize_t>(line.size()))
    return {};
  json j = json::parse(line);
  return std::move(j["what"]);
}

std::optional<json> Journal::take_last(const std::string& name) {
  if (const auto at = earlier_.find(name); at != earlier_.end() && at->second.size() > 1)
    at->second.resize(1);
  return take(name);
}

void Journal::add(const std::string& name, const json& what) {
  const std::string line = dumped({{"case", name}, {"what", what}});
  const std::lock_guard<std::mutex> lock(mutex_);
  // What the kernels loaded at run time: the command does not name it.
  if (const std::int64_t loaded = isolation::LoadedFiles::found(); loaded != loaded_) {
    loaded_ = loaded;
    out_->append(dumped({{"case", kLoaded}, {"what", isolation::LoadedFiles::of_all()}}));
  }
  out_->append(line);
  if (++finished_ == end_after_) raise(end_by_);
}

void Journal::finish() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

}  // namespace assay
