// SPDX-License-Identifier: Apache-2.0
// Device buffers of isolated launches. They belong to the supervisor, so it can read them after a worker has
// died.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "kernels/candidate.hpp"
#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

/// The buffers of a batch of launches may have so many bytes together, and those of one launch so many.
inline constexpr std::uint64_t kBatchBytes = std::uint64_t{32} << 20, kBytesOfBatched = kBatchBytes / 8;
/// Where the next image of a batch begins, behind so many bytes.
inline constexpr std::uint64_t next_image(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }
/// The bytes that the images take in a batch.
inline std::uint64_t bytes_in_batch(Images& images) {
  std::uint64_t bytes = 0;
  for (const Image* image : buffers_of(images)) bytes = next_image(bytes + image->size());
  return bytes;
}

class DeviceSide {
 public:
  DeviceSide();
  ~DeviceSide();
  DeviceSide(const DeviceSide&) = delete;
  DeviceSide& operator=(const DeviceSide&) = delete;

  /// Empty, or the reason why launches with these options cannot be made here.
  static std::string cannot(const LaunchOptions& options);

  /// Makes this process's context in another thread; what needs it waits for it.
  void begin_ahead();
  /// Copies the images to the device and writes their places into the request. Appends the descriptors that
  /// must be sent with it. The outcome is `lost` if the device has no memory left.
  LaunchOutcome put(Launch& request, const Variant& variant, const std::vector<Images*>& images,
                    const LaunchOptions& options, std::vector<int>& descriptors);
  /// Copies back what the launch left in the buffers.
  LaunchOutcome take(const Launch& request, const std::vector<Images*>& images);
  /// The name of a buffer that has changed since `take`, or empty.
  std::string changed(const Launch& request, int which, Images& images);
  /// Like `put`, for a launch in parts: the buffers are filled on the device and freed by `free_all`. The
  /// outcome is `lost` if the device cannot hold them.
  LaunchOutcome put_parts(Launch& request, const PartBuffers& buffers);
  /// Reads the wanted parts and checks the guard bands.
  LaunchOutcome take_parts(const Launch& request, PartBuffers& buffers, std::string& guard);
  /// Like `put`, for launches of a batch, of at most kBatchBytes.
  LaunchOutcome put_batch(Batch& request, const std::vector<Images*>& images);
  /// Reads what the launches left in the buffers.
  LaunchOutcome read_batch();
  /// Reads it again. For each launch: a buffer that has changed, or -1. Empty if it can not be read.
  std::vector<int> changed_in_batch(const std::vector<Images*>& images);
  /// Puts what was read into the images that are wanted.
  void take_batch(const std::vector<Images*>& images, const std::vector<bool>& wanted);
  /// Lets the worker open a piece of this process's memory that cudaMalloc gave. It is not freed here.
  LaunchOutcome lend(void* memory, std::uint64_t size, int generation, DeviceBuffer& told);
  /// Frees every buffer. Call it after the worker that had them open has ended.
  void free_all();
  /// Call it when the worker has ended: the next one has none of the buffers open.
  void forget_worker();

  /// The share of the device's time, since the last call, that a process could get which wanted the device
  /// all the time. An empty kernel of this process measures it: near 1 if it ends at once, 0 if it does not
  /// end.
  double share();
  /// True if the empty kernel could not end before, and ends now that the worker is gone.
  bool waits_for_worker();
  std::uint64_t free_bytes() const;
  std::uint64_t all_bytes() const;

 private:
  /// Selects the device and creates the stream and State.
  LaunchOutcome begin();

  struct State;
  std::unique_ptr<State> state_;
  std::future<void> ahead_;
};

}  // namespace assay::isolation
