// The supervisor of one worker: keeps it alive, makes launches in it, and survives them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/isolation/device_side.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/parts.hpp"
#include "kernels/isolation/process/process.hpp"
#include "kernels/isolation/process/warm_process.hpp"
#include "kernels/isolation/shared/arena.hpp"

namespace assay::isolation {

/// What a worker is to load.
struct Subject {
  bool plugin = false;
  std::string name;        // a key, or a shared object's absolute path
  std::string shown = {};  // what messages call it, if not by its name
  Command command = {};    // of an interpreter that is to be the worker; no words: assay itself
  /// Forks the workers where it can; else, and where there is none, `command` is run for each.
  std::shared_ptr<WarmProcess> warm = {};
  /// Workers beside each other that are worth their start; 0: as many as there are threads.
  int most_workers = 0;
  /// Loading, and the first launch of a shape in a worker, may take so many times as long: they compile.
  double first_times = 1;
};

using Outcomes = std::array<LaunchOutcome, 2>;

class Supervisor {
 public:
  /// Throws InputError: no worker can be had.
  Supervisor(Subject subject, const IsolationOptions& options);

  /// Starts the worker. The number of entries; throws InputError: it can not be loaded.
  std::uint32_t load();
  /// What the loaded worker said that its kernels are made of; empty if nothing.
  const std::string& made_of() const { return made_of_; }
  /// What an entry says of itself. Throws InputError.
  Described describe(std::uint32_t entry);
  /// Bytes, asked once per problem. 0 after a failure, which the next launch reports.
  std::uint64_t workspace_bytes(std::uint32_t entry, bool on_device, const Problem& problem);

  /// One launch, or two at the same time. `on_device`: where the entry's buffers lie.
  Outcomes launch(std::uint32_t entry, bool on_device, const Variant& variant, const Problem& problem,
                  const std::vector<Images*>& images, const LaunchOptions& options);
  /// One launch in a fresh worker, on buffers of which only parts are given and wanted.
  PartOutcome launch_parts(std::uint32_t entry, bool on_device, const Variant& variant,
                           const Problem& problem, PartBuffers& buffers, const PartOptions& options);
  void restart();
  Disturbance disturbance();
  void be_patient(double times);
  int most_workers() const { return subject_.most_workers; }

 private:
  /// The worker did not answer: it is gone now.
  struct Failure {
    std::string text;
    Ended ended = Ended::crashed;
    FaultKind kind = FaultKind::died;
    bool from_outside = false;  // others than the kernel may have done it
    LaunchOutcome outcome() const { return {text, ended, {}, 0, kind}; }
  };

  /// Throws InputError, or a Failure that is lost: a worker is not to be had now.
  void start();
  void start_once();
  std::unique_ptr<Process> new_process();
  const std::string& shown() const { return subject_.shown.empty() ? subject_.name : subject_.shown; }
  template <class Answer, class Request>
  const Answer& ask(Request& request, const std::vector<int>& descriptors = {});
  [[noreturn]] void lose(Process::Heard heard);
  void drop_worker();
  double patience() const;        // seconds one answer may take
  double first_patience() const;  // where it may have to compile
  double on_the_wall() const;     // seconds beyond that, by the clock
  bool first_of_its_shape(std::uint32_t entry, const Problem& problem, const Images& images);
  Process::Patience waiting();
  std::string where(const Signal& signal) const;

  /// True if the launch is to be made again: what ended it may have come from outside.
  bool launch_on_host(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                      bool page_end, bool last, Outcomes& outcomes);
  bool launch_on_device(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                        const LaunchOptions& options, bool last, Outcomes& outcomes);
  /// `problem`: bytes of the buffers that the launch was given.
  LaunchOutcome refused_memory(const std::string& fault, std::uint64_t problem);
  Launch request_of(std::uint32_t entry, bool on_device, const Variant& variant, const Problem& problem,
                    const LaunchOptions& options) const;
  void parts_on_host(Launch& request, PartBuffers& buffers, PartOutcome& outcome);
  void parts_on_device(Launch& request, PartBuffers& buffers, PartOutcome& outcome);
  void take(const std::vector<Images*>& images, const Launch& request, Outcomes& outcomes);
  void wait_for_bystanders();
  std::string changed(Images& images, int slot);
  void remember(const std::vector<Images*>& images, const Launch& request, std::uint64_t most);
  std::string changed_since_last();

  const Subject subject_;
  const IsolationOptions options_;
  const std::shared_ptr<Spawner> spawner_;
  std::mutex mutex_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Process> process_;
  DeviceSide device_;
  std::uint32_t entries_ = 0;
  std::string made_of_;
  std::set<std::array<std::int64_t, 9>> shapes_;  // that the worker was given
  std::uint64_t base_ = 0;                        // of the arena's regions, in the worker
  std::uint32_t sequence_ = 0;
  bool hung_ = false;       // it did, once
  double slowest_ = 0;      // seconds until an answer that came
  double allowed_ = 0;      // seconds for the launch in progress; 0: as the options say
  double times_ = 1;        // the usual patience
  bool on_device_ = false;  // the launch in progress is
  Disturbance disturbance_;
  Anything answer_;
  Placement placements_[kSlots][kBuffers];
  std::uint64_t with_bystanders_ = 0;  // launches that left something running
  bool remembers_ = false;
  std::vector<std::byte> remembered_[kSlots][kBuffers];
  std::map<std::array<std::int64_t, 10>, std::uint64_t> workspaces_;
  LaunchOutcome workspace_failure_;
};

}  // namespace assay::isolation
