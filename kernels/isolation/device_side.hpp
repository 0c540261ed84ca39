// Device buffers of isolated launches: they belong to the supervisor, so that they can be read after a worker
// died.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/isolation/parts.hpp"
#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

class DeviceSide {
 public:
  DeviceSide();
  ~DeviceSide();
  DeviceSide(const DeviceSide&) = delete;
  DeviceSide& operator=(const DeviceSide&) = delete;

  /// Empty, or why launches with these options can not be made here.
  static std::string cannot(const LaunchOptions& options);

  /// Copies the images to the device and says in the request where they are; descriptors that must travel
  /// along are appended. Lost where the device has no memory left.
  LaunchOutcome put(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                    const LaunchOptions& options, std::vector<int>& descriptors);
  /// Copies back what the launch left.
  LaunchOutcome take(const Launch& request, const std::vector<Images*>& images);
  /// The name of a buffer that is no longer what was taken, or empty.
  std::string changed(const Launch& request, int which, Images& images);
  /// The same for a launch in parts, whose buffers are filled on the device and freed by `free_all`.
  /// Lost where the device can not hold them.
  LaunchOutcome put_parts(Launch& request, const PartBuffers& buffers);
  /// Reads the wanted parts and looks at the guard bands.
  LaunchOutcome take_parts(const Launch& request, PartBuffers& buffers, std::string& guard);
  /// Frees every buffer. The worker that had them open has ended.
  void free_all();
  /// The worker has ended: the next one has none of the buffers.
  void forget_worker();

  /// Of the time since this was last asked, the share that a process had which wanted the device all the
  /// time, as an empty kernel of this process shows: near 1 where it ends at once, 0 where it does not end.
  double share();
  /// The empty kernel had not ended, and now, after the worker, it does.
  bool waits_for_worker();
  std::uint64_t free_bytes() const;
  std::uint64_t all_bytes() const;

 private:
  /// The device, a stream and State.
  LaunchOutcome begin();

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::isolation
