// SPDX-License-Identifier: Apache-2.0
#include "reports/merge/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "fuzz/search/campaign.hpp"
#include "reference/error.hpp"
#include "reference/paths.hpp"
#include "reference/text.hpp"
#include "reports/data/files.hpp"
#include "reports/out/journal.hpp"
#include "reports/out/shard_folder.hpp"
#include "reports/records/about.hpp"
#include "reports/records/record_parser.hpp"
#include "reports/runs/selftest.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// A folder that a part wrote, finished or not.
struct Part {
  fs::path folder;
  std::optional<ShardEnd> end;  // empty: it is not finished
};

bool is_part(const fs::path& folder) {
  return fs::exists(folder / kShardFile) || fs::exists(folder / kUnfinished);
}

std::vector<Part> parts_in(const std::vector<fs::path>& folders) {
  std::set<fs::path> found;
  for (const fs::path& folder : folders) {
    if (!fs::is_directory(folder)) throw InputError(folder.string() + ": no such folder");
    if (is_part(folder)) {
      found.insert(folder);
      continue;
    }
    bool any = false;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_directory() && entry.path().filename().string().starts_with("shard-")) {
        any = true;
        found.insert(entry.path());
      }
    if (!any)
      throw InputError(folder.string() + ": holds no part of a run (no shard-0-of-N, no " + kShardFile + ")");
  }
  std::vector<Part> all;
  for (const fs::path& folder : found) {
    Part p{folder, {}};
    // A part that was begun again is not finished, although its older file is there.
    if (fs::exists(folder / kShardFile) && !fs::exists(folder / kUnfinished))
      p.end = read_shard_file(folder / kShardFile);
    all.push_back(std::move(p));
  }
  return all;
}

/// "shard-2-of-4" as 2 and 4.
std::optional<Shard> shard_in_name(const fs::path& folder) {
  Shard s;
  int end = 0;
  const std::string name = folder.filename().string();
  if (std::sscanf(name.c_str(), "shard-%d-of-%d%n", &s.index, &s.count, &end) < 2 ||
      end != static_cast<int>(name.size()))
    return {};
  return s;
}

/// True if a part before this one read other contents of a file; else notes what this one read.
bool read_differently(const Part& p, std::map<std::string, std::string>& read) {
  return std::any_of(p.end->read.begin(), p.end->read.end(), [&](const ReadFile& f) {
    return read.emplace(f.path, f.sha256).first->second != f.sha256;
  });
}

/// The parts in order. Throws if they are of several runs, or not all there.
std::vector<const Part*> whole_run(const std::vector<Part>& parts) {
  const Part* first = nullptr;
  std::map<int, const Part*> by_index;
  std::map<std::string, std::string> read;  // what the parts included, by the path
  for (const Part& p : parts) {
    if (!p.end) continue;
    if (!first) first = &p;
    const ShardEnd &a = *first->end, &b = *p.end;
    const char* const differs = a.count != b.count       ? "another number of parts"
                                : a.command != b.command ? "another command"
                                : a.assay != b.assay     ? "another version of assay"
                                : a.files != b.files ? "other contents of the files that the command names"
                                : read_differently(p, read) ? "other contents of a file that these include"
                                                            : nullptr;
    if (differs)
      throw InputError(fmt::format("{} and {} are no parts of one run: {}", first->folder.string(),
                                   p.folder.string(), differs));
    if (const auto [at, fresh] = by_index.emplace(b.shard, &p); !fresh)
      throw InputError(fmt::format("{} and {} are both shard {}/{}", at->second->folder.string(),
                                   p.folder.string(), b.shard, b.count));
  }
  // How many there should be, if none is finished, only the names of the folders say.
  int count = first ? first->end->count : 0;
  std::map<int, const Part*> unfinished;
  for (const Part& p : parts)
    if (const auto named = shard_in_name(p.folder); !p.end && named) {
      if (!first) count = std::max(count, named->count);
      if (named->count == count) unfinished[named->index] = &p;
    }
  if (count == 0)
    throw InputError(parts.front().folder.string() + ": did not end, and does not say of how many");
  MissingParts missing;
  missing.count = count;
  for (int i = 0; i < count; ++i) {
    if (by_index.contains(i)) continue;
    ++missing.missing;
    const auto at = unfinished.find(i);
    missing.text += fmt::format(
        "shard {}/{} {}", i, count,
        at != unfinished.end() ? "did not end (" + at->second->folder.string() + ")" : "is missing");
    if (first)
      missing.text += fmt::format(": {} --shard {}/{} --out {}{}", first->end->command, i, count,
                                  shell_quoted(first->folder.parent_path().string()),
                                  at != unfinished.end() ? " --resume" : "");
    missing.text += "\n";
  }
  if (missing.missing > 0) throw missing;
  std::vector<const Part*> all;
  for (const auto& [index, part] : by_index) all.push_back(part);
  return all;
}

/// Writes a file line by line beside its place; `commit` puts it there.
class Growing {
 public:
  explicit Growing(fs::path to)
      : to_(std::move(to)), part_(unique_part(to_)), out_(part_, std::ios::binary) {}
  ~Growing() {
    std::error_code ignored;
    if (!committed_) fs::remove(part_, ignored);
  }
  void add(const std::string& line) {
    errno = 0;
    if (!(out_ << line << '\n')) throw_unwritten(to_, errno);
  }
  void commit() {
    errno = 0;
    out_.close();
    if (!out_) throw_unwritten(to_, errno);
    fs::rename(part_, to_);
    committed_ = true;
  }
  std::string name() const { return to_.filename().string(); }

 private:
  fs::path to_, part_;
  std::ofstream out_;
  bool committed_ = false;
};

/// What merge asks of a fact.
struct FactLine {
  Status status;
  std::string reproduce;
  std::string backend = {}, gpu = {};  // of a timing: shares of a file are those of one machine
};
template <class Fact>
FactLine line_of(const std::string& line) {
  auto f = fact_from_json<Fact>(parse_json_line(line));
  FactLine of{outcome(f), f.reproduce};
  if constexpr (requires { f.gpu; }) of.backend = std::move(f.backend), of.gpu = std::move(f.gpu);
  return of;
}
/// There may be a million records, and the JSON library takes ten times as long for them.
template <>
FactLine line_of<Record>(const std::string& line) {
  static thread_local RecordParser parser;
  const Record& r = parser.parse(line);
  return {outcome(r), r.reproduce};
}

/// The kinds of facts that parts share. `runs`: what the first line of each part says of its run is kept, not
/// only that of the first.
struct PartsKind {
  const char* file;
  FactLine (*read)(const std::string& line);
  bool runs;
};
constexpr std::string_view kRecordsFile = "records.jsonl";
constexpr PartsKind kKinds[] = {{"selftest.jsonl", line_of<SelftestEntry>, true},
                                {"sweep.jsonl", line_of<SweepRecord>, false},
                                {kRecordsFile.data(), line_of<Record>, false}};

/// Counts a fact, and returns its line with the command that repeats it in the new folder, to which a case
/// file is copied.
std::string counted(const PartsKind& kind, const std::string& line, const fs::path& part, const fs::path& out,
                    Merged& m) {
  FactLine f = kind.read(line);
  if (!f.gpu.empty())
    if (const std::string& first = m.gpus.try_emplace(f.backend, f.gpu).first->second; first != f.gpu)
      throw InputError(
          fmt::format("{}: holds timings of {}, and another part those of {}", part.string(), f.gpu, first));
  nlohmann::json j;
  if (m.n.total() > 0 && !kind.runs && line.find("\"run\":") != line.npos) {
    j = parse_json_line(line);
    j.erase("run");
  }
  const std::string from = "replay " + part.string() + "/";
  if (const std::size_t at = f.reproduce.find(from); at != f.reproduce.npos) {
    f.reproduce.replace(at, from.size(), "replay " + out.string() + "/");
    if (j.is_null()) j = parse_json_line(line);
    j["reproduce"] = f.reproduce;
  }
  ++m.n[f.status];
  if (spoils_a_run(f.status) && m.first.empty()) m.first = f.reproduce;
  return j.is_null() ? line : j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Adds the CPUs and GPUs of another part, if they differ.
void add_machines(std::vector<std::pair<std::string, std::string>>& to,
                  const std::vector<std::pair<std::string, std::string>>& from) {
  for (const auto& [label, value] : from) {
    if (label != "CPU" && label != "GPU") continue;
    const auto at = std::find_if(to.begin(), to.end(), [&](const auto& pair) { return pair.first == label; });
    if (at == to.end())
      to.emplace_back(label, value);
    else if (("; " + at->second + "; ").find("; " + value + "; ") == std::string::npos)
      at->second += "; " + value;
  }
}

/// What the pages show beside the records. Environment and speeds are those of the first part that has any.
std::string merged_about(const std::vector<const Part*>& parts) {
  ReportData all;
  std::set<std::string> keys, families, ran;
  std::map<std::string, std::string> could_not;  // by key: the part where it could not run, and why
  for (const Part* p : parts) {
    ReportData one = read_about(p->folder / kAboutFile);
    for (const KeyInfo& k : one.keys)
      if (k.not_run.empty())
        ran.insert(k.key);
      else
        could_not.try_emplace(k.key, p->folder.string() + ": " + k.not_run);
    for (KeyInfo& k : one.keys)
      if (keys.insert(k.key).second)
        all.keys.push_back(std::move(k));
      else if (fs::exists(p->folder / kContractFile))  // a check: all cases of a kernel are in one part
        throw InputError(fmt::format("{}: another part has a kernel {}, too", p->folder.string(), k.key));
    for (FamilyInfo& f : one.families)
      if (families.insert(f.name).second) all.families.push_back(std::move(f));
    for (auto& [key, contract] : one.contracts) all.contracts[key] = std::move(contract);
    std::move(one.profiles.begin(), one.profiles.end(), std::back_inserter(all.profiles));
    if (all.environment.empty())
      all.environment = std::move(one.environment);
    else
      add_machines(all.environment, one.environment);
    if (all.oracle.rows.empty()) all.oracle = std::move(one.oracle);
    if (!all.functions) all.functions = std::move(one.functions);
    all.planned += one.planned;
    all.executed += one.executed;
    all.seconds = std::max(all.seconds, one.seconds);
    all.quick = all.quick || one.quick;
  }
  for (KeyInfo& k : all.keys) {
    const auto at = could_not.find(k.key);
    if (at == could_not.end() || !ran.contains(k.key)) continue;
    // The page says why, and that the run is not whole.
    k.not_run = at->second;
  }
  return render_about(all);
}

/// Contracts by key: each kernel is in one part.
std::string merged_contracts(const std::vector<const Part*>& parts) {
  nlohmann::json all = nlohmann::json::object();
  for (const Part* p : parts)
    if (const fs::path file = p->folder / kContractFile; fs::exists(file))
      all.update(parse_json(read_file(file)));
  return all.dump(2) + "\n";
}

}  // namespace

Merged merge_parts(const std::vector<fs::path>& folders, const fs::path& out) {
  const std::vector<Part> found = parts_in(folders);
  std::error_code absent;
  for (const Part& p : found)
    if (fs::equivalent(p.folder, out, absent))
      throw InputError(
          fmt::format("--out {}: is one of the parts that are merged ({}): choose another folder",
                      out.string(), p.folder.string()));
  const std::vector<const Part*> parts = whole_run(found);
  Merged m;
  m.verb = parts.front()->end->verb;
  for (const Part* p : parts) m.statuses.push_back(p->end->status);

  Files small;
  std::map<std::string, std::vector<fuzz::Corpus>> corpora;
  for (const Part* p : parts)
    for (const auto& entry : fs::directory_iterator(p->folder)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".corpus.jsonl")) {
        fuzz::Corpus c = fuzz::corpus_from_text(read_file(entry.path()), entry.path().string());
        corpora[c.key].push_back(std::move(c));
      } else if (name.ends_with(".json") && name != kShardFile && name != kAboutFile &&
                 name != kContractFile) {
        small.emplace_back(out / name, read_file(entry.path()));
      }
    }
  for (const auto& [key, list] : corpora)
    small.emplace_back(fuzz::corpus_file(out, key), fuzz::merged(list).text());
  const bool contracts = fs::exists(parts.front()->folder / kContractFile);
  if (contracts) small.emplace_back(out / kContractFile, merged_contracts(parts));

  // A part of a check without a kernel has none.
  std::vector<const Part*> told;
  for (const Part* p : parts)
    if (fs::exists(p->folder / kAboutFile)) told.push_back(p);
  if (!told.empty()) small.emplace_back(out / kAboutFile, merged_about(told));

  // An older version did not say which file it kept.
  const std::string& kept = parts.front()->end->kept;
  const PartsKind* const kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const PartsKind& k) {
    return kept.empty() ? fs::exists(parts.front()->folder / k.file) : kept == k.file;
  });
  if (kind == std::end(kKinds))
    throw InputError(parts.front()->folder.string() + ": holds no facts that this program knows");
  m.search = kind->file == kRecordsFile && told.empty();
  for (const Part* p : parts) {
    if (m.search && !p->end->in_part)
      throw InputError(p->folder.string() + ": an older version of assay made it: make it again");
    m.in_part = m.in_part || p->end->in_part.value_or(false);
  }
  Growing all(out / kind->file);
  for (const Part* p : parts) {
    const std::int64_t before = m.n.total();
    for_each_line(p->folder / kind->file,
                  [&](const std::string& line) { all.add(counted(*kind, line, p->folder, out, m)); });
    if (const std::int64_t taken = m.n.total() - before; taken != p->end->records)
      throw InputError(fmt::format("{}: holds {} records, and its part had made {}",
                                   (p->folder / kind->file).string(), taken, p->end->records));
  }
  write_files(small);
  all.commit();
  m.files.push_back(all.name());
  if (!contracts && m.files.front() == kRecordsFile) remove_old_contracts(out);
  for (const auto& [path, text] : small) m.files.push_back(path.filename().string());
  return m;
}

}  // namespace assay
