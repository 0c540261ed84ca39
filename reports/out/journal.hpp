// SPDX-License-Identifier: Apache-2.0
// What a run has finished so far: `unfinished.jsonl` in its --out folder. A line is appended as soon as a
// case is finished, so a run that is interrupted or killed loses only the cases under way, and --resume goes
// on with the rest. A run that ends removes the file.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "accuracy/engine.hpp"
#include "reports/data/files.hpp"
#include "reports/out/out_folder.hpp"

namespace assay {

inline constexpr const char* kUnfinished = "unfinished.jsonl";

class Journal {
 public:
  /// `resume`: goes on with what an earlier run of the same command left. Otherwise that is set aside as
  /// unfinished.old.jsonl. Says on stderr which of these happens. Throws InputError if the file there is of
  /// another command, another version of assay, an adoption of another machine (CPU or GPU), or other
  /// kernels: by the SHA-256 of all files that are named, of what they include, and of the binaries. So the
  /// kernels must be loaded before.
  Journal(const OutFolder& folder, bool resume);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// What the earlier run finished under this name; each is returned once, in the order of the file.
  std::optional<nlohmann::json> take(const std::string& name);
  /// The last one of this name.
  std::optional<nlohmann::json> take_last(const std::string& name);
  /// Appends. Thread-safe.
  void add(const std::string& name, const nlohmann::json& what);
  /// This journal, for the engine.
  Kept kept() {
    return {[this](const std::string& name) { return take(name); },
            [this](const std::string& name, const nlohmann::json& what) { add(name, what); }};
  }
  /// The run's own files are written: the journal is no longer needed.
  void finish();

  /// How many the earlier run had finished.
  std::int64_t found() const { return found_; }
  /// How many there are now, for the note of an interrupted run.
  const std::atomic<std::int64_t>& finished() const { return finished_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Place {
    std::size_t offset, size;
  };
  void read_earlier();

  std::filesystem::path path_;
  std::unordered_map<std::string, std::vector<Place>> earlier_;  // last one first
  std::int64_t found_ = 0;
  std::atomic<std::int64_t> finished_{0};
  std::int64_t loaded_ = 0;  // how many files the kernels had loaded when it was written last
  std::mutex mutex_;
  std::optional<LineFile> out_;
  int read_ = -1;
  std::int64_t end_after_ = -1;
  int end_by_ = 0;
};

/// While it lives, an interrupted process (SIGINT, SIGTERM, SIGHUP) says how many cases are finished, where
/// they are, and how to go on. Then it ends by that signal.
class InterruptNote {
 public:
  InterruptNote(const std::filesystem::path& where, const std::atomic<std::int64_t>& finished);
  ~InterruptNote();
  InterruptNote(const InterruptNote&) = delete;
  InterruptNote& operator=(const InterruptNote&) = delete;
};

/// While a compiler runs: an interrupted process says that nothing was lost, unless an InterruptNote says
/// more.
void note_compilation(bool runs);

}  // namespace assay
