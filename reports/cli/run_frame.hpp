// SPDX-License-Identifier: Apache-2.0
// What the long commands have in common: the answer for programs, the part of the run that this process does,
// the folder, the journal with what an earlier run finished, the note of an interrupted run, the units of
// work, and the files at the end. A command adds its options, its units and its page.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "accuracy/engine.hpp"
#include "reports/data/files.hpp"
#include "reports/out/journal.hpp"
#include "reports/out/out_folder.hpp"
#include "reports/out/shard_folder.hpp"
#include "reports/terminal/answer.hpp"

namespace assay {

struct ReportData;

/// The options of every long command.
struct FrameOptions {
  std::string out = {}, shard = {};
  bool resume = false;
  AnswerOptions answer = {};
};
/// --json, --junit and --resume.
void add_frame_options(CLI::App& command, FrameOptions& o);

/// Names of files in the run's folder, and what they hold.
using RunFiles = std::vector<std::pair<std::string, FileContent>>;

/// Lives as long as the command works.
class RunFrame {
 public:
  /// From now on standard output holds what VerdictOutput says.
  explicit RunFrame(const FrameOptions& o) : options_(o), answer_(o.answer) {}

  /// The part of the run that this process does, by --shard or its launcher. Says which, once.
  const Shard& part();

  /// Makes and locks the folder: --out, or `usual` if none was given; that of this part if there are several.
  /// Throws InputError.
  const std::filesystem::path& open_folder(const std::string& usual = "");
  /// Opens the folder's journal as --resume says. Throws InputError. When the run is interrupted from now on,
  /// it says how to go on.
  Journal& open_journal();
  Journal& journal() { return *journal_; }
  /// The same for a run that keeps what it has finished in a file of its own.
  void note_interrupts(const std::string& file, const std::atomic<std::int64_t>& finished);

  const std::filesystem::path& path() const { return folder_->path(); }
  std::filesystem::path operator/(const std::string& name) const { return *folder_ / name; }
  /// Since the command began.
  double seconds() const;
  /// The whole path of a file, for people.
  std::string shown(const std::string& name) const;

  /// The facts of the units, kept in the journal (facts_of_units).
  template <class Facts, class Make, class Told = NothingToTell>
  std::vector<Facts> units(const std::vector<RunUnit>& units, int threads, Make&& make, Told&& told = {}) {
    return facts_of_units<Facts>(units, threads, journal_->kept(), make, told);
  }

  /// Writes the files, and that this part is finished, if there are several: it made so many records and ends
  /// with this status. Then the journal is no longer needed. `kept`, `in_part`: see ShardEnd.
  void finish(RunFiles files, std::int64_t records, int status, const std::string& kept = "records.jsonl",
              bool in_part = false);
  /// The same with the pages of a report.
  void finish(const ReportData& data, RunFiles files, int status);
  /// Files of the folder that others wrote, for the answer.
  void wrote(std::vector<std::string> names) { written_ = std::move(names); }

  /// Gives the answer for programs, which names the files of finish(). Returns the exit status.
  int give(VerdictDocument d);

 private:
  RunFiles with_end(RunFiles files, std::int64_t records, int status,
                    const std::string& kept = "records.jsonl", bool in_part = false);

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const FrameOptions& options_;
  VerdictOutput answer_;
  std::optional<Shard> part_;
  std::optional<OutFolder> folder_;
  std::optional<Journal> journal_;
  std::optional<InterruptNote> note_;
  std::vector<std::string> written_;
};

}  // namespace assay
