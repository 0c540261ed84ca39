// Runs a variant on images of its buffers: byte ranges with guard bands, laid out by the caller in host
// memory. A host backend works in place; for CUDA every image travels to the device and back whole, guard
// bands included, so that the caller inspects what the kernel really left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/registry.hpp"

namespace assay {

/// A guarded buffer: `size` bytes at a 256-byte aligned address; the kernel gets the address of
/// [offset, offset + payload). An empty image is passed as a null pointer.
class Image {
 public:
  Image() = default;
  Image(std::size_t payload, std::size_t offset, std::size_t guard);

  std::byte* data() const { return bytes_.get(); }
  std::byte* payload() const { return bytes_.get() + offset_; }
  std::size_t size() const { return size_; }
  std::size_t offset() const { return offset_; }
  std::size_t payload_bytes() const { return payload_; }
  bool empty() const { return size_ == 0; }

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::size_t size_ = 0, offset_ = 0, payload_ = 0;
};

struct Images {
  Image logits, probs, indices, m, d, workspace;
};

struct LaunchOptions {
  std::uint64_t schedule = 0;   // host executor: order of threads, warps and blocks; 0 is index order
  std::int64_t max_blocks = 0;  // cap on the grid; 0 is the backend's own
  bool in_place = false;        // values go where the logits are; Images::probs stays empty
};

/// How a launch ended. `fault` is one sentence: what the executor or the CUDA runtime reported.
struct LaunchOutcome {
  std::string fault;
  bool ok() const { return fault.empty(); }
};

LaunchOutcome launch(const Variant& variant, const Problem& problem, Images& images,
                     const LaunchOptions& options);

}  // namespace assay
