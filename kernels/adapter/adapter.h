// SPDX-License-Identifier: Apache-2.0
// What stands between the C ABI and a launcher with its own kind of parameters: the copies that its types
// need, the stream, how a call ended, and the variants of a shared object. arguments.h has the numbers and
// pointers of a call. This is C++17, for nvcc and for host compilers. The adapters that `assay check my.cu`
// writes use it, and so does ASSAY_VARIANT.
#ifndef ASSAY_ADAPTER_H
#define ASSAY_ADAPTER_H

#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#if __has_include("plugin.h")
#include "arguments.h"
#include "plugin.h"
#else
#include "kernels/adapter/arguments.h"
#include "kernels/plugin.h"
#endif
#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

namespace assay_adapter {

/// Status of a call that was not made, because the launcher's signature cannot express it.
constexpr int32_t kRefused = -1;
/// The launcher threw, or the executor saw a fault.
constexpr int32_t kThrew = -2;
/// The launcher returned false.
constexpr int32_t kSaidNo = -3;

/// Why the last call on this thread did not return 0. Empty if it did.
inline std::string& fault() {
  static thread_local std::string text;
  return text;
}

/// The kind of that fault, as a word of assay's FaultKind.
inline const char*& fault_kind() {
  static thread_local const char* kind = "none";
  return kind;
}

inline int32_t status_of_success(bool success) { return success ? 0 : kSaidNo; }

/// Converts an index to another width. A value that does not fit becomes the least number, which is no valid
/// index.
template <class To, class From>
#if defined(__CUDACC__)
__host__ __device__
#endif
    To
    index_as(From i) {
  const To t = static_cast<To>(i);
  return static_cast<From>(t) == i ? t : static_cast<To>(To(1) << (8 * sizeof(To) - 1));
}

#if defined(__CUDACC__)

constexpr int32_t kDeviceType = 2;

/// Maps an error to a word of assay's FaultKind. A launch beyond the machine's limits runs nothing, and its
/// error says so.
inline const char* kind_of(cudaError_t e) {
  switch (e) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidValue:
    case cudaErrorLaunchOutOfResources:
      return "bad_launch";
    case cudaErrorMemoryAllocation:
      return "memory";
    default:
      return "other";
  }
}

inline int32_t check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return 0;
  fault() = std::string(what) + ": " + cudaGetErrorName(e) + ": " + cudaGetErrorString(e);
  fault_kind() = kind_of(e);
  return static_cast<int32_t>(e);
}

/// Makes the later work on `after` wait for all work that is on `before` now.
inline int32_t order(cudaStream_t before, cudaStream_t after) {
  cudaEvent_t event = nullptr;
  if (const int32_t e = check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event"))
    return e;
  int32_t e = check(cudaEventRecord(event, before), "recording an event");
  if (e == 0) e = check(cudaStreamWaitEvent(after, event, 0), "waiting for an event");
  cudaEventDestroy(event);
  return e;
}

template <class To, class From>
__global__ void convert_indices(const From* from, To* to, int64_t rows, int64_t k, int64_t pitch) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < rows * k;
       i += int64_t{gridDim.x} * blockDim.x)
    to[i / k * pitch + i % k] = index_as<To>(from[i]);
}
template <class To, class From>
void convert(const From* from, To* to, int64_t rows, int64_t k, int64_t pitch, void* stream) {
  if (rows * k > 0)
    convert_indices<<<256, 256, 0, static_cast<cudaStream_t>(stream)>>>(from, to, rows, k, pitch);
}

inline int32_t copy_rows(const assay_call& c) {
  return check(
      cudaMemcpy2DAsync(c.values->data, static_cast<uint64_t>(pitch_of(c.values)) * element(c.values),
                        c.logits->data, static_cast<uint64_t>(pitch_of(c.logits)) * element(c.logits),
                        static_cast<uint64_t>(c.logits->shape[1]) * element(c.logits),
                        static_cast<uint64_t>(c.logits->shape[0]), cudaMemcpyDeviceToDevice,
                        static_cast<cudaStream_t>(c.stream)),
      "copying the logits to where the entry works in place");
}

inline void* stream_of(const assay_call& c) { return c.stream; }
inline int32_t begin(const assay_call& c, const Needs& n) {
  (void)cudaGetLastError();  // clears any error from before this call
  return n.stream ? 0 : order(static_cast<cudaStream_t>(c.stream), nullptr);
}
inline int32_t end(const assay_call& c, const Needs& n) {
  if (const int32_t e = check(cudaGetLastError(), "after the entry returned")) return e;
  return n.stream ? 0 : order(nullptr, static_cast<cudaStream_t>(c.stream));
}
inline std::string status_text(int32_t status) {
  return std::string(" (as a cudaError_t: ") + cudaGetErrorName(static_cast<cudaError_t>(status)) + ")";
}

#else

constexpr int32_t kDeviceType = 1;

template <class To, class From>
void convert(const From* from, To* to, int64_t rows, int64_t k, int64_t pitch, void*) {
  for (int64_t i = 0; i < rows * k; ++i) to[i / k * pitch + i % k] = index_as<To>(from[i]);
}
inline int32_t copy_rows(const assay_call& c) {
  const uint64_t bytes = element(c.logits);
  for (int64_t r = 0; r < c.logits->shape[0]; ++r)
    std::memcpy(
        static_cast<char*>(c.values->data) + static_cast<uint64_t>(r * pitch_of(c.values)) * bytes,
        static_cast<const char*>(c.logits->data) + static_cast<uint64_t>(r * pitch_of(c.logits)) * bytes,
        static_cast<uint64_t>(c.logits->shape[1]) * bytes);
  return 0;
}
#if defined(ASSAY_HOST_CUDA)
inline void* stream_of(const assay_call&) { return assay_cuda::given_stream(); }
inline int32_t begin(const assay_call&, const Needs&) {
  assay_cuda::streams = {};
  return 0;
}
inline int32_t end(const assay_call&, const Needs& n) {
  if (!n.takes_stream || assay_cuda::streams.on_default == 0 || assay_cuda::streams.waited > 0) return 0;
  fault() = "work was put on the default stream, not on the one that the call gave";
  fault_kind() = "other_stream";
  return kThrew;
}
#else
inline void* stream_of(const assay_call& c) { return c.stream; }
inline int32_t begin(const assay_call&, const Needs&) { return 0; }
inline int32_t end(const assay_call&, const Needs&) { return 0; }
#endif
inline std::string status_text(int32_t) { return {}; }

#endif

/// Makes one call: `body` takes Arguments and returns a status. Never throws.
template <class Body>
int32_t run(const assay_call* call, const Needs& needs, Body body) noexcept {
  try {
    fault().clear();
    fault_kind() = "other";
    Arguments a = arguments_of(*call, needs);
    a.stream = stream_of(*call);
    if (const int32_t e = begin(*call, needs)) return e;
    // Logits that already lie where the results go are not copied.
    if (needs.inout && call->values->data != call->logits->data)
      if (const int32_t e = copy_rows(*call)) return e;
    int32_t status = needs.one_row ? 0 : body(a);
    if (needs.one_row)
      for (int64_t row = 0; row < a.rows && status == 0; ++row) status = body(row_of(a, *call, needs, row));
    if (status) {
      const std::string number = std::to_string(status);
      fault() = status == kSaidNo ? "returned false"
                                  : (status > 0 ? "returned status " + number + ": " : std::string()) +
                                        "the entry returned " + number + status_text(status);
      fault_kind() = "returned_status";
      return status;
    }
    if (call->indices && a.indices != call->indices->data) {
      void* const to = call->indices->data;
      const int64_t pitch = pitch_of(call->indices);
      if (needs.index_bytes == 8)
        convert(static_cast<const int64_t*>(a.indices), static_cast<int32_t*>(to), a.rows, a.k, pitch,
                a.stream);
      else
        convert(static_cast<const int32_t*>(a.indices), static_cast<int64_t*>(to), a.rows, a.k, pitch,
                a.stream);
    }
    return end(*call, needs);
  } catch (const Refused& e) {
    fault() = e.what();
    fault_kind() = "refused_call";
    return kRefused;
#if defined(ASSAY_HOST_CUDA)
  } catch (const ::assay::executor::Fault& e) {
    fault() = e.what();
    fault_kind() = ::assay::name(e.kind);
#endif
  } catch (const std::exception& e) {
    fault() = "threw an exception: " + std::string(e.what());
    fault_kind() = "threw";
  } catch (...) {
    fault() = "threw something that is no std::exception";
    fault_kind() = "threw";
  }
  return kThrew;
}

/// The variants of this shared object. Their texts live in `texts`.
struct Registered {
  std::vector<assay_variant> variants;
  std::deque<std::string> texts;
  const char* keep(const std::string& text) { return texts.emplace_back(text).c_str(); }
};
inline Registered& registered() {
  static Registered all;
  return all;
}
inline bool add(assay_variant v) {
  v.struct_size = sizeof(assay_variant);
  v.device_type = kDeviceType;
  registered().variants.push_back(v);
  return true;
}

}  // namespace assay_adapter

/// A sentence that says why the last call on this thread did not return 0. Empty if it did.
extern "C" ASSAY_EXPORT __attribute__((used)) inline const char* assay_plugin_fault(void) {
  return assay_adapter::fault().c_str();
}
/// The kind of that fault: a word of assay's FaultKind.
extern "C" ASSAY_EXPORT __attribute__((used)) inline const char* assay_plugin_fault_kind(void) {
  return assay_adapter::fault_kind();
}
extern "C" ASSAY_EXPORT __attribute__((used)) inline const assay_plugin* assay_plugin_entry(void) {
  static assay_plugin plugin{};
  plugin.struct_size = sizeof plugin;
  plugin.abi_version = ASSAY_ABI_VERSION;
  plugin.variant_struct_size = sizeof(assay_variant);
  plugin.variant_count = static_cast<uint32_t>(assay_adapter::registered().variants.size());
  plugin.variants = assay_adapter::registered().variants.data();
  return &plugin;
}

#endif
