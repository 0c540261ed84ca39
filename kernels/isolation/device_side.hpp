// Device buffers of isolated launches: they belong to the supervisor, so that they can be read after a worker
// died.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/isolation/message.hpp"

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
  /// along are appended. A fault, or empty.
  std::string put(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                  const LaunchOptions& options, std::vector<int>& descriptors);
  /// Copies back what the launch left. A fault, or empty.
  std::string take(const Launch& request, const std::vector<Images*>& images);
  /// The name of a buffer that is no longer what was taken, or empty.
  std::string changed(const Launch& request, int which, Images& images);
  /// The worker has ended: the next one has none of the buffers.
  void forget_worker();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::isolation
