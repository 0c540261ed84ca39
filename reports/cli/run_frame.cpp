// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/run_frame.hpp"

#include "reports/cli/options.hpp"
#include "reports/data/report_data.hpp"
#include "reports/page/folder/write_report.hpp"

namespace assay {

void add_frame_options(CLI::App& command, FrameOptions& o) {
  add_answer_options(command, o.answer);
  add_resume(command, o.resume);
}

const Shard& RunFrame::part() {
  if (!part_) part_ = part_of_run(options_.shard);
  return *part_;
}

const std::filesystem::path& RunFrame::open_folder(const std::string& usual) {
  return folder_.emplace(shard_folder(options_.out.empty() ? usual : options_.out, part_.value_or(Shard())))
      .path();
}

Journal& RunFrame::open_journal() {
  journal_.emplace(*folder_, options_.resume);
  note_.emplace(journal_->path(), journal_->finished());
  return *journal_;
}

void RunFrame::note_interrupts(const std::string& file, const std::atomic<std::int64_t>& finished) {
  note_.emplace(*folder_ / file, finished);
}

double RunFrame::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

std::string RunFrame::shown(const std::string& name) const {
  return std::filesystem::absolute(*folder_ / name).string();
}

RunFiles RunFrame::with_end(RunFiles files, std::int64_t records, int status, const std::string& kept,
                            bool in_part) {
  written_.clear();
  for (const auto& [name, content] : files) written_.push_back(name);
  const Shard part = part_.value_or(Shard());
  if (part.count == 1) return files;
  ShardEnd end = shard_end(part, records, status);
  end.kept = kept, end.in_part = in_part;
  files.emplace_back(kShardFile, shard_text(end));
  return files;
}

void RunFrame::finish(RunFiles files, std::int64_t records, int status, const std::string& kept,
                      bool in_part) {
  Files all;
  for (auto& [name, content] : with_end(std::move(files), records, status, kept, in_part))
    all.emplace_back(*folder_ / name, std::move(content));
  write_files(all);
  if (journal_) journal_->finish();
}

void RunFrame::finish(const ReportData& data, RunFiles files, int status) {
  write_report(path(), data, with_end(std::move(files), std::ssize(data.records), status));
  written_.insert(written_.end(), {"summary.md", "index.html"});
  if (journal_) journal_->finish();
}

int RunFrame::give(VerdictDocument d) {
  if (part_) d.part = part_->words();
  return answer_.give(std::move(d), folder_ ? path() : std::filesystem::path(), written_);
}

}  // namespace assay
