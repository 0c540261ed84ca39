// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/check/watched.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <sstream>

#include "accuracy/conformance/bench.hpp"
#include "kernels/adapter/toolchain/compiler.hpp"
#include "kernels/device.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/process/child.hpp"
#include "kernels/isolation/process/environment.hpp"
#include "reference/error.hpp"
#include "reference/paths.hpp"
#include "reference/text.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/options.hpp"
#include "reports/data/files.hpp"
#include "reports/data/outcome.hpp"
#include "reports/records/compare.hpp"

namespace assay {
namespace {

/// A temporary folder for what a child writes, deleted when the child has ended.
struct TemporaryFolder {
  TemporaryFolder() : path(unique_part(std::filesystem::temp_directory_path() / "assay-check")) {}
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  std::filesystem::path path;
};

}  // namespace

/// Exit status that tells compute-sanitizer's findings from the child's own statuses.
static constexpr int kToolFound = 86;

Ran shell(const std::string& command, std::atomic<pid_t>* running) {
  Ran ran;
  const TemporaryFolder folder;
  const std::string words = fmt::format("out={}; {}", shell_quoted(folder.path.string()), command);
  const int out = memfd_create("output", MFD_CLOEXEC);
  pid_t pid = 0;
  const int error = out < 0 ? errno
                            : isolation::start({.words = {"/bin/sh", "-c", words},
                                                .descriptors = {{out, 1}, {out, 2}},
                                                .with_parent = running ? SIGTERM : 0},
                                               pid);
  if (error != 0) throw EnvironmentError(std::string("sh: cannot be started: ") + std::strerror(error));
  if (running) *running = pid;
  ran.status = isolation::status_of(pid);
  if (running) *running = 0;
  ran.output = read_file(fmt::format("/proc/self/fd/{}", out));
  close(out);
  const std::filesystem::path records = folder.path / "records.jsonl";
  try {
    if (std::filesystem::exists(records)) ran.records = read_records(records);
  } catch (const InputError&) {
    // The child was ended while it wrote: it has shown nothing.
  }
  return ran;
}

std::string own_path() {
  if (const char* worker = std::getenv("ASSAY_WORKER")) return worker;
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string child_command(const std::string& words, std::uint64_t seed) {
  // --shared: this process holds the GPU's lock, and its child must not wait for it. --no-sandbox: the tool
  // could not reach a worker in one. --device: the same GPU.
  return fmt::format(
      "timeout --foreground 600 {} check {} --quick --shared --no-sandbox --threads 1 --timeout 120 --seed "
      "{} --device {} --out \"$out\"",
      shell_quoted(own_path()), words, seed, selected_device());
}

std::string line_with(const std::string& output, std::initializer_list<const char*> words) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    for (const char* word : words)
      if (line.find(word) != std::string::npos) return line;
  return {};
}

/// Exit status of the shell if `ulimit -t` ended a child that used too much CPU time.
static constexpr int kOutOfTime = 128 + SIGXCPU;
static bool out_of_time(const Ran& ran) { return ran.status == kTimedOut || ran.status == kOutOfTime; }

void judge_watched(Record& r, const Ran& ran, Check tool, const std::string& found) {
  r.rows_judged = 1;
  conformance::require(r, tool, found.empty(), found);
  const std::string dead = line_with(ran.output, {"ERROR: ThreadSanitizer:"});
  const FaultKind cause = out_of_time(ran)                         ? FaultKind::no_answer
                          : dead.find("SEGV") != std::string::npos ? FaultKind::wild_access
                          : dead.find("BUS") != std::string::npos  ? FaultKind::wild_access
                          : dead.find("ILL") != std::string::npos  ? FaultKind::misaligned
                                                                   : FaultKind::tool_failed;
  const std::string line =
      !dead.empty() ? dead
                    : line_with(ran.output, {name(Verdict::fail), "assay:", "Error", "error", "status"});
  conformance::require(r, Check::launch, ran.status == 0 || !found.empty(),
                       out_of_time(ran) ? std::string("the child did not end in time")
                                        : fmt::format("the child ended with status {}: {}", ran.status, line),
                       cause);
  conformance::settle(r);
}

void say_unsandboxed(Record& r) {
  if (r.where != Where::in_process) r.where = Where::not_sandboxed;
}

/// Status of a run whose tool ended without a summary.
static constexpr int kNoSummary = 87;

/// True if the child ran the group `launches` alone, and nothing went wrong in it.
static bool launches_came_back(const Ran& ran) {
  return ran.status == kEnvironment && !ran.records.empty() &&
         std::ranges::all_of(ran.records, [](const Record& r) {
           return r.group == conformance::kLaunchesGroup &&
                  (r.status == Status::pass || r.status == Status::unsupported);
         });
}

std::string environment_of(std::initializer_list<std::vector<std::string>> kept) {
  std::set<std::string> names;
  for (const std::vector<std::string>& some : kept)
    for (const std::string& one : some) names.insert(one.substr(0, one.find('=')));
  std::string words = "env";
  constexpr std::string_view kAll[] = {"*"};
  for (const std::string& one : isolation::kept_environment(kAll))
    if (const std::string name = one.substr(0, one.find('=')); !name.empty() && !names.contains(name))
      words += " -u " + shell_quoted(name);
  return words + " ";
}

/// The tool finds the child's workers by variables of its own (NV_*, LD_PRELOAD, ...). So the child gives its
/// workers all that it has, and the tool begins with no more than kernels and compilers get and this program
/// reads.
static std::string environment_of_tool() {
  constexpr std::string_view kOwn[] = {"ASSAY_*", "CUDACXX"};
  return environment_of(
             {isolation::environment_of_kernels(), isolation::kept_environment(kOwn), compiler_inputs()}) +
         isolation::kKeepVariable + "='*'";
}

Ran sanitized(const std::string& tool, const std::string& child, std::string& found,
              std::atomic<pid_t>* running) {
  // `timeout` leads a process group and passes the signal on to it.
  Ran ran = shell(
      fmt::format("{} {} compute-sanitizer --tool {} --target-processes all --error-exitcode {} {}",
                  running ? "exec timeout -k 2 660" : "", environment_of_tool(), tool, kToolFound, child),
      running);
  if (launches_came_back(ran)) ran.status = 0;
  // Equal values written by two threads are at most a warning, and no result can show such a hazard.
  const bool clean = ran.output.find("ERROR SUMMARY: 0 errors") != std::string::npos ||
                     (ran.output.find("RACECHECK SUMMARY: ") != std::string::npos &&
                      ran.output.find("(0 errors") != std::string::npos) ||
                     ran.output.find("RACECHECK SUMMARY: 0 hazards") != std::string::npos;
  if (!clean || ran.status == kToolFound)
    found = line_with(ran.output, {"========= Invalid", "========= Error", "========= Warning", "hazard",
                                   "Uninitialized", "Barrier error", "ERROR SUMMARY: "});
  if (!clean && found.empty() && ran.status == 0)
    ran = {kNoSummary, "assay: the tool ended without a summary\n" + ran.output};
  return ran;
}

std::string sanitizer_missing() {
  if (sandbox_demanded()) return "--sandbox was given, and the tool runs a kernel outside of any sandbox";
  return shell("command -v compute-sanitizer").status == 0 ? "" : "compute-sanitizer is not in PATH";
}

}  // namespace assay
