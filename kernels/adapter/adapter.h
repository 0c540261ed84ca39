// What stands between the C ABI and a launcher with parameters of its own: each call's numbers and pointers,
// the copies that its types need, the stream, and how it ended. C++17, for nvcc and for host compilers; used
// by the adapters that `assay check my.cu` writes and by ASSAY_VARIANT.
#ifndef ASSAY_ADAPTER_H
#define ASSAY_ADAPTER_H

#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#if __has_include(<assay/plugin.h>)
#include <assay/parts.h>
#include <assay/plugin.h>
#else
#include "kernels/adapter/parts.h"
#include "kernels/plugin.h"
#endif
#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

namespace assay_adapter {

/// Status of a call that was not made: the launcher's signature cannot say it.
constexpr int32_t kRefused = -1;
/// The launcher threw, or the executor saw a fault.
constexpr int32_t kThrew = -2;
/// The launcher returned false.
constexpr int32_t kSaidNo = -3;

/// Why the last call on this thread did not return 0.
inline std::string& fault() {
  static thread_local std::string text;
  return text;
}

/// What it was, in the words of assay's FaultKind.
inline const char*& fault_kind() {
  static thread_local const char* kind = "none";
  return kind;
}

/// A call that the launcher's signature cannot express.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a launcher takes, and what must be done around it.
struct Needs {
  bool stream = true;         // false: it works on the default stream
  bool takes_stream = false;  // one of its parameters is the stream
  bool pitches = false;       // it takes the pitch of the logits and that of the results
  bool one_pitch = false;     // it takes one for both
  bool scale = false;
  bool m = false, d = false;  // it writes them whether they are asked for or not
  bool inout = false;         // the results go where the logits are
  bool one_row = false;       // it takes one row: it is called for each
  int out_bytes = 0;          // of an element of its results; 0: it has none
  int index_bytes = 0;        // of its own indices
  int fixed_k = 0;
  uint64_t (*workspace)(int64_t rows, int64_t V, int64_t k) = nullptr;
};

/// One call, as a launcher sees it.
struct Arguments {
  int64_t rows = 0, V = 0, k = 0, in_pitch = 0, out_pitch = 0;
  const void *in = nullptr, *gradients = nullptr;
  void *out = nullptr, *indices = nullptr, *m = nullptr, *d = nullptr, *workspace = nullptr;
  uint64_t workspace_bytes = 0;
  void* stream = nullptr;
  float scale = 1, temperature = 1;
  const void *mask = nullptr, *bias = nullptr, *lengths = nullptr, *temperatures = nullptr;
};

/// A number as the launcher's own type, never cut short.
template <class T>
T number(int64_t n, const char* what) {
  const T t = static_cast<T>(n);
  if (static_cast<int64_t>(t) != n || (t < T(0)) != (n < 0))
    throw Refused(std::string(what) + " = " + std::to_string(n) + " does not fit the entry's type");
  return t;
}

/// A number for a parameter whose integer type only the launcher's file knows.
struct own_integer {
  int64_t n;
  explicit own_integer(int64_t of) : n(of) {}
  template <class T>
  operator T() const {
    return number<T>(n, "a number");
  }
};

/// A size that something is divided by. Without columns there is nothing to divide.
inline int64_t divisor(int64_t n) { return n == 0 ? 1 : n; }

inline int32_t status_of_success(bool success) { return success ? 0 : kSaidNo; }

/// What a parameter is for; kParts spells it.
#define ASSAY_PART(part) part,
enum class Part { ASSAY_PARTS(ASSAY_PART) };
#undef ASSAY_PART
#define ASSAY_PART(part) #part,
constexpr const char* kParts[] = {ASSAY_PARTS(ASSAY_PART)};
#undef ASSAY_PART

/// The value of one parameter of type A.
template <class A>
A value_of(Part part, const Arguments& a) {
  if constexpr (std::is_pointer_v<A>) {
    const void* p = part == Part::in          ? a.in
                    : part == Part::indices   ? a.indices
                    : part == Part::stream    ? a.stream
                    : part == Part::workspace ? a.workspace
                    : part == Part::m         ? a.m
                    : part == Part::d         ? a.d
                    : part == Part::gradients ? a.gradients
                    : part == Part::mask_keep || part == Part::mask_drop ? a.mask
                    : part == Part::bias || part == Part::bias_row       ? a.bias
                    : part == Part::lengths                              ? a.lengths
                    : part == Part::temperature                          ? a.temperatures
                                                                         : a.out;
    return reinterpret_cast<A>(const_cast<void*>(p));
  } else if constexpr (std::is_integral_v<A>) {
    const int64_t n = part == Part::rows              ? a.rows
                      : part == Part::V               ? a.V
                      : part == Part::k               ? a.k
                      : part == Part::in_pitch        ? a.in_pitch
                      : part == Part::out_pitch       ? a.out_pitch
                      : part == Part::workspace_bytes ? static_cast<int64_t>(a.workspace_bytes)
                                                      : a.in_pitch;
    return number<A>(n, kParts[static_cast<int>(part)]);
  } else {
    return static_cast<A>(part == Part::temperature ? a.temperature : a.scale);
  }
}
/// The same for adapters that stand behind a file that may define any macro: no name of a member is in sight.
template <class A, int part>
A value(const Arguments& a) {
  return value_of<A>(static_cast<Part>(part), a);
}

inline uint64_t rounded(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Where the adapter's own parts of the workspace begin: the launcher's comes first.
struct Layout {
  uint64_t own = 0, m = 0, d = 0, out = 0, indices = 0, end = 0;
  Layout(const assay_call& c, const Needs& n) {
    const int64_t rows = c.logits->shape[0], V = c.logits->shape[1];
    const auto r = static_cast<uint64_t>(rows);
    own = n.workspace ? n.workspace(rows, V, c.k) : 0;
    m = rounded(own);
    d = m + (n.m && !c.m ? rounded(4 * r) : 0);
    out = d + (n.d && !c.d ? rounded(4 * r) : 0);
    // Results that nobody asked for, where (m, d) alone are judged.
    indices =
        out + (!c.values ? rounded(static_cast<uint64_t>(n.out_bytes) * r * static_cast<uint64_t>(V)) : 0);
    const bool wider = c.indices && n.index_bytes * 8 != c.indices->dtype.bits && n.index_bytes != 0;
    end = indices + (wider ? rounded(8 * r * static_cast<uint64_t>(c.k)) : 0);
    if (end == m) end = own;
  }
};

inline uint64_t workspace_of(const assay_call& c, const Needs& n) { return Layout(c, n).end; }

inline int64_t pitch_of(const assay_tensor* t) { return t ? t->strides[0] : 0; }

/// Throws Refused for a call that the launcher cannot be told.
inline Arguments arguments_of(const assay_call& c, const Needs& n) {
  Arguments a;
  a.rows = c.logits->shape[0];
  a.V = c.logits->shape[1];
  a.k = c.k;
  a.in_pitch = pitch_of(c.logits);
  a.out_pitch = pitch_of(c.values);
  a.in = c.logits->data;
  a.gradients = c.gradients ? c.gradients->data : nullptr;
  a.out = c.values ? c.values->data : nullptr;
  a.stream = c.stream;
  a.scale = c.scale;
  a.temperature = c.temperature;
  const auto data_of = [](const assay_tensor* t) -> const void* { return t ? t->data : nullptr; };
  a.mask = data_of(c.mask);
  a.bias = data_of(c.bias);
  a.lengths = data_of(c.lengths);
  a.temperatures = data_of(c.temperatures);
  if (c.scale != 1 && !n.scale) throw Refused("scale is not 1, and the entry takes no scale");
  if (n.fixed_k && c.k != n.fixed_k)
    throw Refused("k = " + std::to_string(c.k) + ", and the entry's is " + std::to_string(n.fixed_k));
  if (!n.pitches && !n.one_row && a.rows > 1) {
    const bool dense_out = !c.values || a.out_pitch == c.values->shape[1];
    if (n.one_pitch ? c.values && a.in_pitch != a.out_pitch : a.in_pitch != a.V || !dense_out)
      throw Refused(n.one_pitch ? "pitches of input and output differ, and the entry takes one"
                                : "rows do not lie V apart, and the entry takes no pitch");
  }
  const Layout at(c, n);
  if (at.end > 0 && (c.workspace_bytes < at.end || !c.workspace))
    throw Refused("the workspace is smaller than the entry asked for");
  auto* const base = static_cast<unsigned char*>(c.workspace);
  a.workspace = at.own ? base : nullptr;
  a.workspace_bytes = at.own;
  a.m = c.m ? c.m->data : n.m ? base + at.m : nullptr;
  a.d = c.d ? c.d->data : n.d ? base + at.d : nullptr;
  if (!c.values && n.out_bytes) {
    a.out = base + at.out;
    a.out_pitch = n.one_pitch ? a.in_pitch : a.V;
    if (n.inout || (n.one_pitch && a.in_pitch != a.V))
      throw Refused("(m, d) alone cannot be asked of this entry");
  }
  a.indices =
      c.indices ? (at.end > at.indices && at.end != at.own ? base + at.indices : c.indices->data) : nullptr;
  return a;
}

/// Bytes of an element.
inline uint64_t element(const assay_tensor* t) { return t->dtype.bits / 8u; }

/// One row of a call: of its own buffers, or of those that stand in for them.
inline Arguments row_of(const Arguments& all, const assay_call& c, const Needs& n, int64_t row) {
  Arguments a = all;
  const auto r = static_cast<uint64_t>(row);
  const auto at = [r](void* p, uint64_t bytes) -> void* {
    return p ? static_cast<unsigned char*>(p) + r * bytes : nullptr;
  };
  a.rows = 1;
  a.in = at(const_cast<void*>(all.in), static_cast<uint64_t>(all.in_pitch) * element(c.logits));
  a.gradients = at(const_cast<void*>(all.gradients), static_cast<uint64_t>(all.in_pitch) * element(c.logits));
  a.out = at(all.out, static_cast<uint64_t>(all.out_pitch) *
                          (c.values ? element(c.values) : static_cast<uint64_t>(n.out_bytes)));
  if (c.indices)
    a.indices = at(all.indices, all.indices == c.indices->data
                                    ? static_cast<uint64_t>(pitch_of(c.indices)) * element(c.indices)
                                    : static_cast<uint64_t>(all.k) * static_cast<uint64_t>(n.index_bytes));
  a.m = at(all.m, sizeof(float));
  a.d = at(all.d, sizeof(float));
  const auto operand = [&](const void* p, const assay_tensor* t) -> const void* {
    // One bias for all rows has one dimension.
    if (!t || (t->ndim == 1 && t == c.bias)) return p;
    return at(const_cast<void*>(p), static_cast<uint64_t>(t->ndim == 1 ? 1 : pitch_of(t)) * element(t));
  };
  a.mask = operand(all.mask, c.mask);
  a.bias = operand(all.bias, c.bias);
  a.lengths = operand(all.lengths, c.lengths);
  a.temperatures = operand(all.temperatures, c.temperatures);
  return a;
}

/// An index of one width as one of another; what does not fit becomes the least number, which is no index.
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

/// A word of assay's FaultKind. A launch beyond the machine's limits runs nothing and says so.
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

/// What `after` enqueues starts when all that `before` has enqueued so far is done.
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
  (void)cudaGetLastError();  // whatever went wrong before this call
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
    // Logits that lie where the results go already are left alone.
    if (needs.inout && call->values->data != call->logits->data)
      if (const int32_t e = copy_rows(*call)) return e;
    int32_t status = needs.one_row ? 0 : body(a);
    if (needs.one_row)
      for (int64_t row = 0; row < a.rows && status == 0; ++row) status = body(row_of(a, *call, needs, row));
    if (status) {
      fault() = status == kSaidNo ? std::string("the entry returned false")
                                  : "the entry returned " + std::to_string(status) + status_text(status);
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
    fault() = e.what();
    fault_kind() = "threw";
  } catch (...) {
    fault() = "the entry threw something that is no std::exception";
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

/// A sentence on why the last call of this thread did not return 0; empty if it did.
extern "C" ASSAY_EXPORT __attribute__((used)) inline const char* assay_plugin_fault(void) {
  return assay_adapter::fault().c_str();
}
/// What it was: a word of assay's FaultKind.
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
