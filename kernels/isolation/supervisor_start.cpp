// SPDX-License-Identifier: Apache-2.0
// How a supervisor gets a worker: it begins a process, and has it load the subject.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/isolation/loaded/loaded_files.hpp"
#include "kernels/isolation/process/environment.hpp"
#include "kernels/isolation/process/sandboxed.hpp"
#include "kernels/isolation/shared/runtime_name.hpp"
#include "kernels/isolation/supervisor.hpp"
#include "reference/error.hpp"

namespace assay::isolation {
namespace {

Command command_of(const Subject& subject, const IsolationOptions& options,
                   const std::shared_ptr<const OpenedFile>& opened) {
  if (!subject.command.words.empty()) return subject.command;
  Command command{{worker_executable(options.worker), "worker", std::to_string(kSocket)}};
  command.opened = opened;
  return command;
}

/// A registered key says where it runs. Any other subject may use a GPU if there is one.
Reach reach_of(const Subject& subject, const IsolationOptions& options) {
  if (options.as_on_a_gpu) return Reach::device;
  const bool host =
      subject.on_host || (!subject.plugin && !subject.name.ends_with(std::string("@") + name(Backend::cuda)));
  return host ? Reach::host : widest_reach();
}

/// What holds its workers. A kernel that nobody vouches for does not run where nothing holds it.
Guard guard_for(const Subject& subject, const IsolationOptions& options) {
  if (!options.sandbox) return Guard::none;
  const Reach reach = reach_of(subject, options);
  const Guard guard = guard_of(reach);
  if (guard == Guard::none && subject.plugin && sandbox_wanted())
    throw EnvironmentError("no sandbox works here: " + guard_words(reach) +
                           "; --no-sandbox runs the kernel with all your rights");
  return guard;
}

/// An interpreter opens its module itself.
std::shared_ptr<const OpenedFile> opened_by(const Subject& subject) {
  return subject.plugin && subject.command.words.empty() ? OpenedFile::of(subject.name) : nullptr;
}

/// Whose it is: the file's or the module's. Registered kernels trust each other.
std::string kernel_of(const Subject& subject) { return subject.plugin ? subject.name : std::string(); }

}  // namespace

Supervisor::Supervisor(Subject subject, const IsolationOptions& options)
    : subject_(std::move(subject)),
      options_(options),
      opened_(opened_by(subject_)),
      guard_(guard_for(subject_, options)),
      parent_(worker_parent(command_of(subject_, options, opened_), reach_of(subject_, options),
                            guard_ != Guard::none, kernel_of(subject_))) {}

void Supervisor::start() {
  start_any();
  if (!two_faced_.empty()) throw InputError(two_faced_);
}

void Supervisor::start_any() {
  if (process_) return;
  try {
    start_once();
  } catch (const Failure& f) {
    if (!f.from_outside) throw;
    start_once();
  }
}

std::unique_ptr<Process> Supervisor::new_process() {
  const double allowed = first_patience();
  const Process::Patience patience{allowed, allowed + on_the_wall()};
  if (subject_.warm && subject_.warm->ready(patience)) try {
      return std::make_unique<Process>(subject_.warm);
    } catch (const std::system_error&) {
      // The forking process may be gone by now. If it is not, the machine lacks something.
      if (subject_.warm->ready(patience)) throw;
    }
  return std::make_unique<Process>(parent_);
}

bool Supervisor::greets(Process& process, std::uint64_t& base, Process::Heard& heard) {
  long length = 0;
  heard = process.hear(answer_, length, waiting());
  if (heard != Process::Heard::message) return false;
  const Greeting* hello = as<Greeting>(answer_, length, 0);
  if (!hello || hello->largest != sizeof(Anything)) throw Failure{"it is no worker of this build"};
  if (hello->base == 0) throw Failure{"it found no addresses for shared memory"};
  base = hello->base;
  // What it has mapped by now is not the kernel's.
  if (subject_.plugin) LoadedFiles::of(subject_.name).begin(process.pid(), !subject_.command.words.empty());
  return true;
}

std::uint32_t Supervisor::send_load(Process& process, const Arena& arena) {
  Load request;
  request.head.sequence = ++sequence_;
  request.plugin = subject_.plugin;
  request.device = selected_device();
  request.ahead = begins_ahead();
  if (request.ahead) device_.begin_ahead();
  request.name.set(subject_.name);
  // A worker that is gone by now is noticed when its answer does not come.
  process.send(request, std::array{arena.descriptor()});
  return request.head.sequence;
}

bool Supervisor::begins_ahead() const {
  // An interpreter makes contexts when and where it likes. A tool that watches processes of a GPU, which
  // keeps all variables for that, takes long for each of them, and longer for two at once.
  const char* const kept = std::getenv(kKeepVariable);
  return subject_.command.words.empty() && reach_of(subject_, options_) == Reach::device &&
         !(kept && std::string_view(kept) == "*");
}

void Supervisor::begin_spare() {
  if (!restarts_ || spare_.process || !begins_ahead()) return;
  // If it can not be begun, it is begun when it is needed, and then it is said what is lacking.
  try {
    spare_.arena = std::make_unique<Arena>();
    spare_.process = new_process();
    Process::Heard heard{};
    if (greets(*spare_.process, spare_.base, heard)) {
      spare_.sequence = send_load(*spare_.process, *spare_.arena);
      return;
    }
  } catch (const Failure&) {
  } catch (const std::exception&) {
  }
  drop_spare();
}

void Supervisor::drop_spare() {
  if (spare_.process && spare_.base && subject_.plugin)
    LoadedFiles::of(subject_.name).end(spare_.process->pid());
  spare_ = {};
}

void Supervisor::start_once() {
  require_unchanged();
  std::uint32_t load = 0;
  try {
    if (spare_.process) {
      Begun begun = std::exchange(spare_, {});
      arena_ = std::move(begun.arena);
      process_ = std::move(begun.process);
      base_ = begun.base;
      load = begun.sequence;
    } else {
      // A new arena for each worker, because something that an older worker started may still write into the
      // old one.
      arena_ = std::make_unique<Arena>();
      process_ = new_process();
      Process::Heard heard{};
      if (!greets(*process_, base_, heard)) lose(heard);
      load = send_load(*process_, *arena_);
    }
    looked_at_ = subject_.plugin;
  } catch (const Failure& f) {
    drop_worker();
    if (f.from_outside || f.ended == Ended::lost) throw;
    throw InputError(parent_->name() + ": can not be used as a worker: " + f.text);
  } catch (const std::system_error& e) {
    drop_worker();
    // Errors such as EACCES are the caller's to fix. The ones listed here pass.
    for (const std::errc passing : {std::errc::resource_unavailable_try_again, std::errc::not_enough_memory,
                                    std::errc::too_many_files_open, std::errc::too_many_files_open_in_system})
      if (e.code() == passing)
        throw Failure{std::string("memory: no worker: ") + e.what(), Ended::lost, FaultKind::memory};
    throw InputError(std::string("no worker can be started: ") + e.what());
  }
  const double allowed = std::exchange(allowed_, first_patience());
  try {
    const Loaded& loaded = answer_to<Loaded, Load>(load);
    allowed_ = allowed;
    if (const std::string runtime = loaded.runtime.get(); !runtime.empty()) {
      begin_with(runtime);
      return start_once();
    }
    entries_ = loaded.count;
    made_of_ = loaded.made_of.get();
    if (std::string error = loaded.error.plain(); !error.empty()) {
      if (subject_.plugin) error = shown() + ": " + error;
      const bool lacks = loaded.lacks != 0;
      drop_worker();
      if (lacks) throw EnvironmentError(error);
      throw InputError(error);
    }
    look_at_description(loaded.count);
    require_unchanged();
  } catch (const Failure& f) {
    allowed_ = allowed;
    if (f.from_outside || f.ended == Ended::lost) throw;
    throw DiedAtLoad(fmt::format("{}: {} while it was loaded: {}", shown(),
                                 f.ended == Ended::hung ? "hung" : "crashed", f.text),
                     f.ended);
  }
  begin_spare();
}

void Supervisor::begin_with(const std::string& runtime) {
  drop_worker();
  drop_spare();
  if (runtime == runtime_ || !is_runtime_name(runtime))
    throw InputError(
        fmt::format("{}: was linked with AddressSanitizer, and its runtime {} can not be loaded: "
                    "LD_LIBRARY_PATH may name the folder where it is",
                    shown(), runtime));
  runtime_ = runtime;
  Command command = command_of(subject_, options_, opened_);
  command.environment = {{"LD_PRELOAD", runtime}};
  // What a worker still has at its end is not the kernel's loss.
  if (!std::getenv("ASAN_OPTIONS")) command.environment.emplace_back("ASAN_OPTIONS", "detect_leaks=0");
  parent_ = worker_parent(command, reach_of(subject_, options_), guard_ != Guard::none, kernel_of(subject_));
}

}  // namespace assay::isolation
