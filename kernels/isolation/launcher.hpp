// One entry of a worker, as a Launcher.
#pragma once

#include "kernels/isolation/supervisor.hpp"

namespace assay::isolation {

class WorkerLauncher : public Launcher {
 public:
  /// `own_stream`: the entry works on the stream that it is given.
  WorkerLauncher(std::shared_ptr<Supervisor> supervisor, std::uint32_t entry, bool on_device, bool own_stream)
      : supervisor_(std::move(supervisor)), entry_(entry), on_device_(on_device), own_stream_(own_stream) {}

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
  std::string cannot(const LaunchOptions& options) const override {
    if (options.delayed_producer && !on_device_) return "delayed_producer: host memory has no streams";
    if (options.delayed_producer && !own_stream_) return "delayed_producer: the kernel takes no stream";
    return on_device_ ? DeviceSide::cannot(options) : std::string();
  }
  void restart() override { supervisor_->restart(); }

 private:
  std::shared_ptr<Supervisor> supervisor_;
  std::uint32_t entry_;
  bool on_device_, own_stream_;
};

}  // namespace assay::isolation
