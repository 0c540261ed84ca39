// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/check/spread.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include "accuracy/status.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/process/child.hpp"
#include "reference/error.hpp"
#include "reference/parallel.hpp"
#include "reports/cli/check/watched.hpp"
#include "reports/cli/commands.hpp"
#include "reports/data/files.hpp"
#include "reports/data/say.hpp"
#include "reports/data/summary.hpp"
#include "reports/merge/merge.hpp"
#include "reports/out/command_line.hpp"
#include "reports/out/journal.hpp"
#include "reports/out/shard_folder.hpp"
#include "reports/records/about.hpp"
#include "reports/records/compare.hpp"
#include "reports/runs/folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// A process at work.
struct Process {
  pid_t pid = -1;  // -1: none
  std::size_t part = 0;
  Clock::time_point begin;
};

/// What a finished part of this run says of itself, but for its number, its records and its status.
ShardEnd expected_end() {
  ShardEnd e = shard_end({}, 0, 0);
  e.command = command_compared({"--shard", "--jobs"});
  return e;
}

/// How the part in this folder ended, if it is finished and this part of this run.
std::optional<ShardEnd> finished(const fs::path& folder, const Shard& shard, const ShardEnd& of_run) {
  const fs::path file = folder / kShardFile;
  if (!fs::exists(file) || fs::exists(folder / kUnfinished)) return {};
  ShardEnd was = read_shard_file(file);
  const bool same = was.shard == shard.index && was.count == shard.count && was.verb == of_run.verb &&
                    was.command == of_run.command && was.assay == of_run.assay && was.files == of_run.files;
  return same ? std::optional(std::move(was)) : std::nullopt;
}

/// The command of one part: the same options, and those of the part in front, because "--" may end the
/// options.
std::vector<std::string> words_of(std::size_t part, const fs::path& folder, const fs::path& out, int device,
                                  const SpreadOptions& o) {
  const std::vector<std::string> given = words_without(
      {"--resume", "--json"}, {"--out", "--threads", "--junit", "--device", "--jobs", "--shard"});
  std::vector<std::string> words = {"assay",      given.at(0), "--out",
                                    out.string(), "--shard",   fmt::format("{}/{}", part, o.parts.size())};
  if (o.threads > 0) words.insert(words.end(), {"--threads", std::to_string(o.threads)});
  if (device_count() > 0) words.insert(words.end(), {"--device", std::to_string(device)});
  if (o.resume && fs::exists(folder / kUnfinished)) words.emplace_back("--resume");
  words.insert(words.end(), given.begin() + 1, given.end());
  return words;
}

/// Starts this program with these words, as if the machine had so many cores. It ends with this process, and
/// prints into the file `output`; to where this process prints if it is empty. Throws EnvironmentError.
pid_t start(std::vector<std::string> words, int cores, const fs::path& output) {
  std::vector<std::string> settings = {fmt::format("{}={}", kCoresVariable, cores)};
  for (char** e = environ; *e; ++e)
    if (!std::string_view(*e).starts_with(fmt::format("{}=", kCoresVariable))) settings.emplace_back(*e);
  isolation::Child child{.words = std::move(words),
                         .program = own_path(),
                         .environment = std::move(settings),
                         .with_parent = SIGTERM};
  int file = -1;
  if (!output.empty()) {
    file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) throw EnvironmentError(output.string() + ": " + std::strerror(errno));
    child.descriptors = {{file, STDOUT_FILENO}, {file, STDERR_FILENO}};
  }
  pid_t pid = -1;
  const int error = isolation::start(child, pid);
  if (file >= 0) close(file);
  if (error != 0)
    throw EnvironmentError(std::string("--jobs: no process can be started: ") + std::strerror(error));
  return pid;
}

/// The verdict of a finished part, by its records. Of another one the last line that its process printed.
std::string said_of(const SpreadPart& p) {
  if (fs::exists(p.folder / kShardFile) && fs::exists(p.folder / kAboutFile)) {
    try {
      const RecordedRun run(p.folder, p.folder / "records.jsonl");
      const RunSummary whole = summary_of(run.digest());
      return verdict_words(whole) + ": " + whole.reason;
    } catch (const InputError&) {
      // A part without a record: its own last line says why. The verdict of all parts is not made of this.
    }
  }
  std::string last;
  for_each_line(p.output, read_file(p.output), [&](const std::string& line) { last = line; });
  return last;
}

std::string ended_how(int status) {
  if (WIFSIGNALED(status)) return fmt::format("was ended by signal {}", WTERMSIG(status));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

/// Runs all parts that are to be run. `statuses`: what each part's process ended with.
void run_parts(const std::vector<SpreadPart>& parts, const std::vector<std::size_t>& todo,
               const fs::path& out, const SpreadOptions& o, std::vector<std::optional<int>>& statuses,
               std::atomic<std::int64_t>& done) {
  const int devices = std::max(1, device_count());
  const std::size_t at_a_time = std::min(static_cast<std::size_t>(o.jobs), todo.size());
  const int at_work = std::max(1, std::min(static_cast<int>(at_a_time), o.in_turn ? devices : o.jobs));
  const int cores = std::max(1, thread_count(0) / at_work);
  std::vector<Process> processes(at_a_time);
  std::size_t next = 0;
  const auto give = [&](std::size_t place) {
    Process& at = processes[place];
    at = {};
    if (next == todo.size()) return;
    at.part = todo[next++];
    at.begin = Clock::now();
    const int device = (o.device + static_cast<int>(place)) % devices;
    const SpreadPart& p = parts[at.part];
    fs::remove(p.folder / kShardFile);  // an older run's end is not the end of this one
    at.pid = start(words_of(at.part, p.folder, out, device, o), cores, p.output);
  };
  for (std::size_t place = 0; place < processes.size(); ++place) give(place);
  for (;;) {
    const auto working =
        std::find_if(processes.begin(), processes.end(), [](const Process& p) { return p.pid > 0; });
    if (working == processes.end()) return;
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    if (pid < 0) {
      if (errno == EINTR) continue;
      throw EnvironmentError(std::string("--jobs: waiting for a process: ") + std::strerror(errno));
    }
    const auto ended =
        std::find_if(processes.begin(), processes.end(), [&](const Process& p) { return p.pid == pid; });
    if (ended == processes.end()) continue;
    const SpreadPart& p = parts[ended->part];
    statuses[ended->part] = status;
    ++done;
    if (!o.shows_all)
      say("{} of {}: {}: {} ({:.0f} s)\n", done.load(), parts.size(), p.name, said_of(p),
          std::chrono::duration<double>(Clock::now() - ended->begin).count());
    give(static_cast<std::size_t>(ended - processes.begin()));
  }
}

/// Parts of another division in the folder would be taken for parts of this run.
void refuse_other_parts(const fs::path& out, std::size_t count) {
  for (const auto& entry : fs::directory_iterator(out)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && name.starts_with("shard-") && !name.ends_with(fmt::format("-of-{}", count)))
      throw InputError(entry.path().string() +
                       ": is a part of another run: remove the parts, or give another --out");
  }
}

}  // namespace

std::vector<SpreadPart> spread(const fs::path& out, const SpreadOptions& o) {
  refuse_other_parts(out, o.parts.size());
  const ShardEnd of_run = expected_end();
  const auto shard_of_part = [&](std::size_t i) {
    return Shard{static_cast<int>(i), static_cast<int>(o.parts.size())};
  };
  std::vector<SpreadPart> parts;
  std::vector<std::size_t> todo;
  for (std::size_t i = 0; i < o.parts.size(); ++i) {
    const fs::path folder = shard_folder(out, shard_of_part(i));
    parts.push_back({o.parts[i], folder, o.shows_all ? "" : folder.string() + ".txt"});
    if (!o.resume || !finished(folder, shard_of_part(i), of_run)) todo.push_back(i);
  }
  if (o.resume && todo.size() < parts.size())
    say("assay: {} of {} {} are finished already\n", parts.size() - todo.size(), parts.size(),
        o.shows_all ? "parts" : "kernels");
  std::vector<std::optional<int>> statuses(parts.size());  // empty: an earlier run finished it
  std::atomic<std::int64_t> done = std::ssize(parts) - std::ssize(todo);
  const InterruptNote note(out, done);
  run_parts(parts, todo, out, o, statuses, done);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SpreadPart& p = parts[i];
    const std::optional<ShardEnd> end = finished(p.folder, shard_of_part(i), of_run);
    const std::optional<int> ended = statuses[i];
    p.status = ended ? WIFEXITED(*ended) ? WEXITSTATUS(*ended) : kFailed : end ? end->status : kEnvironment;
    if (end && (!ended || (WIFEXITED(*ended) && p.status == end->status))) continue;
    p.lost = "its process " + (ended ? ended_how(*ended) : "left nothing");
    if (!o.shows_all) p.lost += fmt::format(": {} ({})", said_of(p), p.output.string());
  }
  return parts;
}

std::optional<ReportData> together(const fs::path& out, const std::vector<SpreadPart>& parts,
                                   const SpreadOptions& o) {
  if (std::ranges::any_of(parts, [](const SpreadPart& p) { return !p.lost.empty(); })) {
    for (const SpreadPart& p : parts)
      if (!p.lost.empty()) say("assay: {}: was not checked: {}\n", p.name, p.lost);
    say("assay: the other kernels are finished, and kept in {}\nassay: to go on: {}\n", out.string(),
        command_to_resume());
    return {};
  }
  std::vector<fs::path> folders;
  for (const SpreadPart& p : parts) folders.push_back(p.folder);
  merge_parts(folders, out);
  ReportData data = read_about(out / kAboutFile);
  data.records = read_records(out / "records.jsonl");
  // Its processes got it by --seed.
  add_seed(data.environment, o.seed);
  const int devices = device_count();
  data.environment.emplace_back("kernels at a time",
                                devices > 1 ? fmt::format("{}, on {} GPUs", o.jobs, std::min(o.jobs, devices))
                                            : std::to_string(o.jobs));
  return data;
}

}  // namespace assay
