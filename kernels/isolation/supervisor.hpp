// SPDX-License-Identifier: Apache-2.0
// The supervisor of one worker. It keeps the worker alive, makes launches in it, and survives its crashes.
#pragma once

#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/fault_kind.hpp"
#include "kernels/isolation/batch_queue.hpp"
#include "kernels/isolation/device_side.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/loaded/loaded_files.hpp"
#include "kernels/isolation/process/description.hpp"
#include "kernels/isolation/process/process.hpp"
#include "kernels/isolation/process/warm_process.hpp"
#include "kernels/isolation/shared/arena.hpp"

namespace assay::isolation {

/// More such ends are the kernel's own.
inline constexpr int kMostUnexplainedEnds = 2;

/// Counts one more of this kernel (a key, or the path of a file), and returns how many there are now, over
/// all its workers.
int count_unexplained_end(const std::string& kernel);

/// For tests that look at more than one kernel of a file.
void forget_unexplained_ends();

/// What a launch is blamed for whose buffer of this number changed when it had ended.
std::string changed_late(int buffer);

/// What a worker is to load.
struct Subject {
  bool plugin = false;
  std::string name;        // a key, or the absolute path of a shared object
  std::string shown = {};  // its name in messages, if not `name`
  Command command = {};    // runs an interpreter as the worker; empty: assay itself
  bool on_host = false;    // it uses no GPU
  /// Forks the workers if it can. Otherwise, and if null, `command` is run for each worker.
  std::shared_ptr<WarmProcess> warm = {};
  /// How many parallel workers are worth their start. 0: as many as there are threads.
  int most_workers = 0;
  /// Loading, and the first launch of a shape in a worker, may take this many times as long, because they
  /// compile.
  double first_times = 1;
};

using Outcomes = std::array<LaunchOutcome, 2>;

class Supervisor {
 public:
  /// Throws InputError if there is no worker; EnvironmentError if nothing holds a kernel that is not this
  /// project's own, and a sandbox is wanted.
  Supervisor(Subject subject, const IsolationOptions& options);
  ~Supervisor() {
    drop_worker();
    drop_spare();
  }

  /// Starts the worker and returns the number of its entries. Throws InputError if the subject cannot be
  /// loaded.
  std::uint32_t load();
  /// SHA-256 of what the loaded file says of itself; empty for a registered kernel.
  std::string description_sha256() const { return description_ ? description_->sha256 : std::string(); }
  /// What the loaded worker says that its kernels are made of, or empty.
  const std::string& made_of() const { return made_of_; }
  /// The description that an entry of a loaded file gives of itself: what the first worker said.
  Described describe(std::uint32_t entry) const;
  /// SHA-256 of the shared object that all workers load; empty for what is none.
  std::string loaded_sha256() const { return opened_ ? opened_->sha256() : std::string(); }
  /// The bytes of workspace, asked once per problem. 0 after a failure; the next launch then reports the
  /// failure.
  std::uint64_t workspace_bytes(std::uint32_t entry, bool on_device, const Problem& problem);

  /// Makes one launch, or two at the same time. `on_device`: whether the entry's buffers lie on the device.
  Outcomes launch(std::uint32_t entry, bool on_device, const Variant& variant, const Problem& problem,
                  const std::vector<Images*>& images, const LaunchOptions& options);
  /// Makes one launch in a fresh worker, on buffers of which only parts are given and wanted.
  PartOutcome launch_parts(std::uint32_t entry, bool on_device, const Variant& variant,
                           const Problem& problem, PartBuffers& buffers, const PartOptions& options);
  /// Empty, or why launches of an entry are not timed.
  std::string cannot_time(bool on_device) const;
  TimedOutcome time(std::uint32_t entry, const Problem& problem, const TimedSets& sets,
                    const TimedLaunches& launches);
  /// The worker closes the memory of launches that were timed.
  void forget_sets();
  void restart();
  Disturbance disturbance();
  void be_patient(double times);
  int most_workers() const { return subject_.most_workers; }
  /// What all workers of this kernel have mapped, also those of other supervisors.
  std::vector<LoadedFile> loaded_files() const;
  /// What keeps the workers from the rest of the machine.
  Guard guard() const { return guard_; }
  /// True if several threads may launch on a device at the same time, because their launches are then made
  /// together.
  bool shares_launches() const;

 private:
  /// The worker did not answer and is gone.
  struct Failure {
    std::string text;
    Ended ended = Ended::crashed;
    FaultKind kind = FaultKind::died;
    bool from_outside = false;  // something other than the kernel may have caused it
    std::optional<BufferAccess> access = {};
    LaunchOutcome outcome() const { return {text, ended, {}, 0, kind, access}; }
  };

  /// Throws InputError, or a Failure that is `lost` if no worker can be had now.
  void start();
  /// The same, even if the worker says something else of itself than an earlier one.
  void start_any();
  void look_at_description(std::uint32_t count);
  /// Throws InputError if the shared object is loaded by its path, and is another file by now.
  void require_unchanged() const;
  void start_once();
  /// A process that has said its greeting, and was asked to load the subject.
  struct Begun {
    std::unique_ptr<Arena> arena;
    std::unique_ptr<Process> process;
    std::uint64_t base = 0;      // Greeting::base
    std::uint32_t sequence = 0;  // of the request to load
  };
  /// Waits for the greeting of a new process. Returns false if none came: `heard` says what did. Throws
  /// Failure.
  bool greets(Process& process, std::uint64_t& base, Process::Heard& heard);
  /// Returns the number of the request.
  std::uint32_t send_load(Process& process, const Arena& arena);
  void drop_spare();
  /// True if contexts on a device are made before they are needed.
  bool begins_ahead() const;
  /// Begins the next worker of a kernel on a device whose workers are replaced again and again: it makes its
  /// context while this one works.
  void begin_spare();
  std::unique_ptr<Process> new_process();
  const std::string& shown() const { return subject_.shown.empty() ? subject_.name : subject_.shown; }
  template <class Answer, class Request>
  const Answer& ask(Request& request, const std::vector<int>& descriptors = {});
  /// Waits for the answer to the request of this number. The answer is valid until the next one. Throws
  /// Failure.
  template <class Answer, class Request>
  const Answer& answer_to(std::uint32_t sequence);
  std::string much_memory() const;
  [[noreturn]] void lose(Process::Heard heard);
  void look_at_conduct(Failure& f);
  void drop_worker();
  /// Which files its worker has mapped (LoadedFiles): after launches 1, 2, 4, 8 and so on, and before its
  /// end.
  void look_at_files();
  void look_last();
  double patience() const;        // seconds that one answer may take
  double first_patience() const;  // the same where the worker may have to compile
  /// Waits until the worker has its context on the device. Else its first launch would wait for that.
  void await_context();
  double on_the_wall() const;  // further seconds, by the wall clock
  bool first_of_its_shape(std::uint32_t entry, const Problem& problem, const Images& images);
  Process::Patience waiting();
  void expect_shared(const Launch& request);
  std::string excess() const;
  std::string where(const Signal& signal, std::optional<BufferAccess>& access) const;

  /// Returns true if the launch must be made again, because its end may have come from outside.
  bool launch_on_host(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                      bool page_end, bool last, Outcomes& outcomes);
  bool launch_on_device(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                        const LaunchOptions& options, bool last, Outcomes& outcomes);
  struct InBatch;
  struct DiedTogether;
  /// Returns false if the launch was not made, or must be made again by itself: the images have not changed.
  /// `died`: set if the batch ended the worker. What the launch then does by itself goes to after_batch.
  bool launch_in_batch(std::uint32_t entry, const Variant& variant, const Problem& problem, Images& images,
                       const LaunchOptions& options, LaunchOutcome& outcome,
                       std::shared_ptr<DiedTogether>& died);
  /// If none of the launches of a batch that ended the worker does so by itself, the last of them gets the
  /// outcome of the batch: the kernel did it.
  static void after_batch(const std::shared_ptr<DiedTogether>& died, LaunchOutcome& outcome);
  void make_batch(const std::vector<InBatch*>& items);
  /// Returns false if the batch failed. `death`: how, if the kernel did it. Throws Failure.
  bool try_batch(const std::vector<InBatch*>& items, LaunchOutcome& death);
  /// `problem`: bytes of the buffers of the launch.
  LaunchOutcome refused_memory(const std::string& fault, std::uint64_t problem);
  Launch request_of(std::uint32_t entry, bool on_device, const Variant& variant, const Problem& problem,
                    const LaunchOptions& options) const;
  void parts_on_host(Launch& request, PartBuffers& buffers, PartOutcome& outcome);
  void parts_on_device(Launch& request, PartBuffers& buffers, PartOutcome& outcome);
  void take(const std::vector<Images*>& images, const Launch& request, Outcomes& outcomes);
  /// Its workers have this library as their first one from now on. Throws InputError.
  void begin_with(const std::string& runtime);
  void wait_for_bystanders();
  std::string changed(Images& images, int slot);
  void remember(const std::vector<Images*>& images, const Launch& request, std::uint64_t most);
  std::string changed_since_last();

  const Subject subject_;
  const IsolationOptions options_;
  const std::shared_ptr<const OpenedFile> opened_;
  const Guard guard_;
  std::shared_ptr<Parent> parent_;
  std::string runtime_;  // the library that its workers have as their first
  std::mutex mutex_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Process> process_;
  Begun spare_;
  std::future<void> ending_;  // an earlier worker
  bool restarts_ = false;     // a worker was replaced although nothing was wrong with it
  DeviceSide device_;
  std::uint32_t entries_ = 0;
  std::shared_ptr<const Description> description_;  // what the first worker of this file said
  std::string two_faced_;                           // that a later one said something else
  std::string made_of_;
  std::set<std::array<std::int64_t, 10>> shapes_;  // shapes that the worker was given
  std::uint64_t base_ = 0;                         // where the worker maps the arena's regions
  std::uint32_t sequence_ = 0;
  bool hung_ = false;           // it has hung before
  double slowest_ = 0;          // the longest time of a launch that came back, in seconds
  double allowed_ = 0;          // seconds for the launch in progress; 0: as in the options
  std::int64_t elements_ = -1;  // of the launch in progress
  double times_ = 1;            // factor on the usual patience
  double wall_ = 0;             // seconds by the wall clock beyond these; 0: as usual
  bool on_device_ = false;      // the launch in progress is on the device
  /// What belongs to the thread that launches.
  struct Caller {
    Disturbance disturbance;
    LaunchOutcome workspace_failure;
  };
  Caller& caller() { return callers_[std::this_thread::get_id()]; }
  std::map<std::thread::id, Caller> callers_;
  BatchQueue<InBatch> batches_{kMostBatched, kBatchBytes};
  std::atomic<int> failed_batches_{0};
  Anything answer_;
  Placement placements_[kSlots][kBuffers];
  std::uint64_t with_bystanders_ = 0;  // launches that left something running
  std::uint64_t launches_ = 0;         // of this worker
  bool looked_at_ = false;             // LoadedFiles knows this worker
  bool remembers_ = false;
  bool of_parts_ = false;  // the worker was kept for more launches in parts
  bool launched_ = false;  // the worker has come back from a launch
  bool ready_ = false;     // it has its context on the device
  std::vector<std::byte> remembered_[kSlots][kBuffers];
  std::mutex workspaces_mutex_;
  std::map<std::array<std::int64_t, 11>, std::uint64_t> workspaces_;
};

// Supervisor::ask, for the files that implement Supervisor.

/// Sends the request and waits for its answer.
template <class Answer, class Request>
const Answer& Supervisor::ask(Request& request, const std::vector<int>& descriptors) {
  request.head.sequence = ++sequence_;
  // A worker with as many requests as the socket holds has not read what something answered in its name.
  if (!process_->send(request, descriptors))
    lose(errno == EAGAIN ? Process::Heard::message : Process::Heard::gone);
  return answer_to<Answer, Request>(sequence_);
}

template <class Answer, class Request>
const Answer& Supervisor::answer_to(std::uint32_t sequence) {
  long length = 0;
  double used = 0;
  const auto asked = std::chrono::steady_clock::now();
  const Process::Heard heard = process_->hear(answer_, length, waiting(), &used);
  if (heard == Process::Heard::message) {
    if (std::is_same_v<Request, Launch> || std::is_same_v<Request, Batch>)
      slowest_ =
          std::max(slowest_, std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count());
    if (std::is_same_v<Request, Launch>)
      caller().disturbance.ended_seconds = std::max(caller().disturbance.ended_seconds, used);
    if (arena_->excess() > 0) lose(Process::Heard::excessive);
  }
  const Answer* answer = heard == Process::Heard::message ? as<Answer>(answer_, length, sequence) : nullptr;
  if (!answer) lose(heard);
  return *answer;
}

}  // namespace assay::isolation
