// SPDX-License-Identifier: Apache-2.0
// assay fuzz --merge: what several searches found and learned, in one folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <unordered_set>

#include "fuzz/search/campaign.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/cli/fuzz/fuzz_options.hpp"
#include "reports/cli/fuzz/fuzz_verdict.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The folder, and those of its parts.
std::vector<fs::path> with_parts(const fs::path& folder) {
  std::vector<fs::path> all = {folder};
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("shard-"))
      all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

/// The record's line, with the command that repeats it in the new folder, into which its case file is copied.
std::string moved_record(const std::string& line, const fs::path& from, const fs::path& to, Files& cases) {
  nlohmann::json j = parse_json_line(line);
  if (!j.is_object()) throw InputError("is no record");
  std::string again = j.value("reproduce", "");
  const std::string before = "replay " + from.string() + "/";
  const std::size_t at = again.find(before);
  if (at == again.npos) return line;
  const std::size_t begin = at + before.size();
  const std::string name = again.substr(begin, again.find(' ', begin) - begin);
  if (fs::exists(from / name)) cases.emplace_back(to / name, read_file(from / name));
  again.replace(at, before.size(), "replay " + to.string() + "/");
  j["reproduce"] = again;
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

int merge_campaigns(const FuzzOptions& o, RunFrame& run) {
  std::map<std::string, std::vector<fuzz::Corpus>> corpora;
  std::vector<std::string> records;
  std::unordered_set<std::string> known;
  Files out;
  std::size_t files = 0;
  for (const std::string& named : o.merge) {
    if (!fs::is_directory(named)) throw InputError("--merge " + named + ": no such folder");
    for (const fs::path& folder : with_parts(named)) {
      for (const auto& file : fuzz::corpus_files(folder)) {
        fuzz::Corpus c = fuzz::corpus_from_text(read_file(file), file.string());
        corpora[c.key].push_back(std::move(c));
        ++files;
      }
      std::vector<fs::path> lists;
      for (const auto& entry : fs::directory_iterator(folder))
        if (const std::string n = entry.path().filename(); n.starts_with("records") && n.ends_with(".jsonl"))
          lists.push_back(entry.path());
      std::sort(lists.begin(), lists.end());
      for (const auto& list : lists) {
        ++files;
        for_each_line(list, read_file(list), [&](const std::string& line) {
          std::string moved = moved_record(line, folder, o.out, out);
          std::string plain = without_run(moved);
          if (known.insert(plain).second)
            records.push_back(records.empty() ? std::move(moved) : std::move(plain));
        });
      }
    }
  }
  if (files == 0)
    throw InputError(fmt::format("--merge {}: no corpus and no records there", fmt::join(o.merge, " ")));
  const fs::path to = o.corpus.empty() ? o.out : o.corpus;
  prepare_folder(to);
  run.open_folder();
  for (const auto& [key, list] : corpora)
    out.emplace_back(fuzz::corpus_file(to, key), fuzz::merged(list).text());
  const std::string lines = fmt::format("{}{}", fmt::join(records, "\n"), records.empty() ? "" : "\n");
  out.emplace_back(run / "records.jsonl", lines);
  write_files(out);
  tell("merged {} files: {} corpora into {}, {} records into {}\n", files, corpora.size(), to.string(),
       records.size(), o.out);
  FuzzVerdict verdict;
  verdict.take_records(lines);
  if (!records.empty()) tell("{}\n", verdict.words());
  run.wrote({"records.jsonl"});
  return run.give(verdict.document());
}

}  // namespace assay
