// SPDX-License-Identifier: Apache-2.0
// The worker's loop as a library that Python loads. It serves the supervisor, and calls Python to load and to
// launch. The command's binary contains it (embedded_worker.hpp), and it contains worker/*.py.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "kernels/adapter/embedded.hpp"
#include "kernels/isolation/worker/loop.hpp"
#include "kernels/isolation/worker/plugin_library.hpp"
#include "kernels/isolation/worker/warm_loop.hpp"
#include "kernels/plugin.h"
#if defined(ASSAY_WITH_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace assay::isolation {
namespace {

/// The last text that Python reported on this thread, and its kind.
thread_local std::string said_text, said_kind;

/// Called with 1 before launches that are timed, and with 0 after them. Not 0: it has reported a fault.
int (*on_timed)(int begin) = nullptr;

/// A callable: its variants have the layout of a plugin, and its faults have its own words.
class PythonKernels : public PluginLibrary {
 public:
  bool compiles_late() const override { return true; }
  void begin_timed() const override {
    if (on_timed) on_timed(1);
  }
  Said end_timed() const override {
    const int status = on_timed ? on_timed(0) : 0;
    return status == 0 ? Said{} : said_of(status);
  }

 protected:
  Said said_of(std::int32_t) const override {
    return {said_text, parse_fault_kind(said_kind).value_or(FaultKind::other)};
  }
};

std::unique_ptr<WorkerKernels> open_python(const assay_plugin* (*open)(), Loaded& loaded) {
  auto kernels = std::make_unique<PythonKernels>();
  const assay_plugin* const plugin = open();
  loaded.lacks = !plugin && said_kind == "lacks";
  if (plugin) {
    loaded.made_of.set(said_text);
    loaded.error.set(kernels->read(plugin));
  } else {
    loaded.error.set(said_text);
  }
  return kernels;
}

/// DLPack's DLManagedTensor.
struct Managed {
  assay_tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
/// A tensor with the shape and strides to which it points.
struct Owned : Managed {
  std::int64_t shape[2], strides[2];
};

std::size_t element_bytes(const assay_tensor& t) { return t.dtype.bits / 8u; }
std::int64_t rows_of(const assay_tensor& t) { return t.ndim > 0 ? t.shape[0] : 1; }
std::int64_t columns_of(const assay_tensor& t) { return t.ndim > 1 ? t.shape[1] : 1; }
std::int64_t stride_of(const assay_tensor& t, int i) {
  if (i >= t.ndim) return 1;
  if (t.strides) return t.strides[i];
  return i + 1 < t.ndim ? t.shape[1] : 1;
}

const char* copy_on_device(const assay_tensor& to, const assay_tensor& from, std::size_t size, void* stream) {
#if defined(ASSAY_WITH_CUDA)
  // A column consists of rows of one element.
  const bool dense = columns_of(to) == 1 || (stride_of(to, 1) == 1 && stride_of(from, 1) == 1);
  if (!dense) return "a tensor whose columns do not lie side by side";
  const auto bytes = [&](std::int64_t n) { return static_cast<std::size_t>(n) * size; };
  const void* const source = static_cast<const char*>(from.data) + from.byte_offset;
  const auto on = static_cast<cudaStream_t>(stream);
  cudaError_t e = cudaMemcpy2DAsync(to.data, bytes(stride_of(to, 0)), source, bytes(stride_of(from, 0)),
                                    bytes(columns_of(to)), static_cast<std::size_t>(rows_of(to)),
                                    cudaMemcpyDeviceToDevice, on);
  // Wait, because the result may be freed as soon as this has returned.
  if (e == cudaSuccess) e = cudaStreamSynchronize(on);
  return e == cudaSuccess ? nullptr : cudaGetErrorString(e);
#else
  (void)to, (void)from, (void)size, (void)stream;
  return "a tensor on a device, which this build has no side for";
#endif
}

void copy_on_host(const assay_tensor& to, const assay_tensor& from, std::size_t size) {
  for (std::int64_t r = 0; r < rows_of(to); ++r)
    for (std::int64_t c = 0; c < columns_of(to); ++c)
      std::memcpy(static_cast<char*>(to.data) +
                      static_cast<std::size_t>(r * stride_of(to, 0) + c * stride_of(to, 1)) * size,
                  static_cast<const char*>(from.data) + from.byte_offset +
                      static_cast<std::size_t>(r * stride_of(from, 0) + c * stride_of(from, 1)) * size,
                  size);
}

}  // namespace
}  // namespace assay::isolation

/// The text of the n-th of worker/*.py, in the order of their names. Its name goes to `name`. Null if there
/// is none.
extern "C" ASSAY_EXPORT const char* assay_python_file(int n, const char** name) {
  const auto& all = assay::embedded_texts();
  if (n < 0 || static_cast<std::size_t>(n) >= all.size()) return nullptr;
  *name = all[static_cast<std::size_t>(n)].path.data();
  return all[static_cast<std::size_t>(n)].text.data();
}

/// Serves until the supervisor is gone. `open` returns the plugin, or null after it has reported why.
/// `forked`: this process was forked by a confined one.
extern "C" ASSAY_EXPORT int assay_python_serve(const assay_plugin* (*open)(), int forked) {
  using namespace assay::isolation;
  return serve([open](const Load&, Loaded& loaded) { return open_python(open, loaded); }, forked != 0);
}

/// For a process that forks workers: call it before any foreign code is loaded.
extern "C" ASSAY_EXPORT void assay_python_confine() { assay::isolation::confine(); }

/// `declines`: why this process must not be forked, or empty. `repeats`: why each worker imports the target
/// again, or empty. Returns 0 if the supervisor is gone.
extern "C" ASSAY_EXPORT int assay_python_warm(const char* declines, const char* repeats) {
  return assay::isolation::say_warm(declines, repeats);
}

/// Waits until a worker is wanted. Returns 0 if the supervisor is gone.
extern "C" ASSAY_EXPORT int assay_python_wanted(assay::isolation::Wanted* wanted) {
  return assay::isolation::next_wanted(*wanted);
}

/// Called after a fork: in the parent, where 0 means that the supervisor is gone, and in the worker.
extern "C" ASSAY_EXPORT int assay_python_forked(const assay::isolation::Wanted* wanted, int pid, int error) {
  return assay::isolation::say_forked(*wanted, pid, error);
}
extern "C" ASSAY_EXPORT void assay_python_become_worker(const assay::isolation::Wanted* wanted) {
  assay::isolation::become_worker(*wanted);
}

/// What to call around launches that are timed.
extern "C" ASSAY_EXPORT void assay_python_on_timed(int (*timed)(int begin)) {
  assay::isolation::on_timed = timed;
}

/// Reports why `open` or `run` is about to fail on this thread. After an `open` that succeeds: what it is
/// made of.
extern "C" ASSAY_EXPORT void assay_python_say(const char* text, const char* kind) {
  assay::isolation::said_text = text;
  assay::isolation::said_kind = kind;
}

/// Makes a DLManagedTensor of the tensor. Its deleter frees the struct, but never the memory of the tensor.
extern "C" ASSAY_EXPORT void* assay_python_dlpack(const assay_tensor* tensor) {
  using namespace assay::isolation;
  auto* const m = static_cast<Owned*>(std::malloc(sizeof(Owned)));
  if (!m) return nullptr;
  m->tensor = *tensor;
  m->context = nullptr;
  m->deleter = [](Managed* own) { std::free(static_cast<Owned*>(own)); };
  for (int i = 0; i < tensor->ndim && i < 2; ++i) {
    m->shape[i] = tensor->shape[i];
    m->strides[i] = tensor->strides[i];
  }
  m->tensor.shape = m->shape;
  m->tensor.strides = m->strides;
  return static_cast<Managed*>(m);
}

/// Copies a result, a DLManagedTensor, to the output. Returns null, or the reason why it cannot.
extern "C" ASSAY_EXPORT const char* assay_python_copy(const assay_tensor* to, const void* result,
                                                      void* stream) {
  using namespace assay::isolation;
  const assay_tensor& from = static_cast<const Managed*>(result)->tensor;
  const bool column = from.ndim == 2 && to->ndim == 1 && from.shape[1] == 1;
  if ((from.ndim != to->ndim && !column) || rows_of(from) != rows_of(*to) ||
      columns_of(from) != columns_of(*to))
    return "a tensor of another shape than the output's";
  if (from.dtype.code != to->dtype.code || from.dtype.bits != to->dtype.bits || from.dtype.lanes != 1)
    return "a tensor of another type than the output's";
  if (from.device.device_type != to->device.device_type)
    return "a tensor that lies elsewhere than the output";
  if (to->device.device_type == 2) return copy_on_device(*to, from, element_bytes(*to), stream);
  copy_on_host(*to, from, element_bytes(*to));
  return nullptr;
}

/// Waits for all work that the stream has now.
extern "C" ASSAY_EXPORT void assay_python_wait(void* stream) {
#if defined(ASSAY_WITH_CUDA)
  // Errors are ignored here: the supervisor learns of them when it asks for the launch's end.
  (void)cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
#else
  (void)stream;
#endif
}
