// SPDX-License-Identifier: Apache-2.0
// One entry of a worker, as a Launcher.
#pragma once

#include <algorithm>

#include "kernels/candidate.hpp"
#include "kernels/isolation/loaded/loaded_files.hpp"
#include "kernels/isolation/supervisor.hpp"

namespace assay::isolation {

/// A kernel of a worker, as a variant without a launcher.
struct Entry {
  Variant variant;
  std::uint32_t number = 0;
  bool on_device = false;
};

class WorkerLauncher : public Launcher {
 public:
  /// `own_stream`: the entry works on the stream that it is given. `family`: all kernels of the worker.
  WorkerLauncher(std::shared_ptr<Supervisor> supervisor, std::uint32_t entry, bool on_device, bool own_stream,
                 std::shared_ptr<const std::vector<Entry>> entries = {})
      : supervisor_(std::move(supervisor)),
        entry_(entry),
        on_device_(on_device),
        own_stream_(own_stream),
        entries_(std::move(entries)) {}

  LaunchOutcome launch(const Variant& variant, const Problem& problem, Images& images,
                       const LaunchOptions& options) override {
    if (std::string why = cannot(options); !why.empty()) return {why, Ended::fault};
    return supervisor_->launch(entry_, on_device_, variant, problem, {&images}, options)[0];
  }
  std::array<LaunchOutcome, 2> launch_both(const Variant& variant, const Problem& problem,
                                           std::array<Images*, 2> images,
                                           const LaunchOptions& options) override {
    if (std::string why = cannot(options); !why.empty())
      return {LaunchOutcome{why, Ended::fault}, LaunchOutcome{why, Ended::fault}};
    return supervisor_->launch(entry_, on_device_, variant, problem, {images[0], images[1]}, options);
  }
  bool on_device() const override { return on_device_; }
  Guard guard() const override { return supervisor_->guard(); }
  std::string cannot(const LaunchOptions& options) const override {
    if (options.delayed_producer && !on_device_) return "delayed_producer: host memory has no streams";
    if (options.delayed_producer && !own_stream_) return "delayed_producer: the kernel takes no stream";
    return on_device_ ? DeviceSide::cannot(options) : std::string();
  }
  std::vector<Variant> siblings() const override {
    std::vector<Variant> all;
    if (!entries_) return all;
    const auto own =
        std::find_if(entries_->begin(), entries_->end(), [&](const Entry& e) { return e.number == entry_; });
    for (const Entry& e : *entries_) {
      if (own == entries_->end() || e.number == entry_ || e.variant.variant != own->variant.variant ||
          e.variant.op != own->variant.op)
        continue;
      all.push_back(e.variant);
      if (declare_) declare_(all.back());
      all.back().launcher =
          std::make_shared<WorkerLauncher>(supervisor_, e.number, e.on_device, e.variant.own_stream);
    }
    return all;
  }
  void declare_siblings(std::function<void(Variant&)> declare) override { declare_ = std::move(declare); }
  void restart() override { supervisor_->restart(); }
  Disturbance disturbance() override { return supervisor_->disturbance(); }
  void be_patient(double times) override { supervisor_->be_patient(times); }
  int most_workers() const override { return on_device_ ? supervisor_->most_workers() : 0; }
  bool shares_launches() const override { return on_device_ && supervisor_->shares_launches(); }
  bool launches_parts() const override { return true; }
  PartOutcome launch_parts(const Variant& variant, const Problem& problem, PartBuffers& buffers,
                           const PartOptions& options) override {
    return supervisor_->launch_parts(entry_, on_device_, variant, problem, buffers, options);
  }
  std::string cannot_time() const override { return supervisor_->cannot_time(on_device_); }
  TimedOutcome time(const Variant&, const Problem& problem, const TimedSets& sets,
                    const TimedLaunches& launches) override {
    if (std::string why = cannot_time(); !why.empty()) return {0, {why, Ended::fault}};
    return supervisor_->time(entry_, problem, sets, launches);
  }
  void forget_sets() override { supervisor_->forget_sets(); }
  std::vector<LoadedFile> loaded_files() const override { return supervisor_->loaded_files(); }
  std::string description_sha256() const override { return supervisor_->description_sha256(); }
  std::string loaded_sha256() const override { return supervisor_->loaded_sha256(); }

 private:
  std::shared_ptr<Supervisor> supervisor_;
  std::uint32_t entry_;
  bool on_device_, own_stream_;
  std::shared_ptr<const std::vector<Entry>> entries_;
  std::function<void(Variant&)> declare_;
};

/// What a worker loads, as variants that share the worker. `shown` is its name in messages. Throws
/// InputError.
std::vector<Variant> variants_of(const std::shared_ptr<Supervisor>& supervisor, const std::string& shown);

}  // namespace assay::isolation
