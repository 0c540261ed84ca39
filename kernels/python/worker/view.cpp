// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/view.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>
#if defined(ASSAY_WITH_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace assay::python {
namespace {

struct TypeName {
  int code, bits;
  const char *shown, *of_numpy;
};
constexpr TypeName kTypes[] = {{2, 16, "f16", "float16"}, {2, 32, "f32", "float32"},
                               {2, 64, "f64", "float64"}, {4, 16, "bf16", "bfloat16"},
                               {0, 32, "i32", "int32"},   {0, 64, "i64", "int64"},
                               {1, 8, "u8", "uint8"},     {6, 8, "bool", "bool"}};

const TypeName& type_name(const assay_data_type& t) {
  for (const TypeName& one : kTypes)
    if (one.code == t.code && one.bits == t.bits) return one;
  return kTypes[1];
}

/// DLPack's DLManagedTensor.
struct Managed {
  assay_tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
/// A tensor with the shape and strides to which it points.
struct Owned : Managed {
  std::int64_t own_shape[2], own_strides[2];
};

constexpr const char* kCapsule = "dltensor";

void free_unused(Object* capsule) {
  if (py.PyCapsule_IsValid(capsule, kCapsule) == 0) return;  // whoever took it frees it
  auto* const m = static_cast<Managed*>(py.PyCapsule_GetPointer(capsule, kCapsule));
  m->deleter(m);
}

long long integer_at(const char* at, int bits, bool with_sign) {
  const auto read = [&](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (with_sign) {
    if (bits == 8) return read(std::int8_t{});
    if (bits == 16) return read(std::int16_t{});
    return bits == 32 ? read(std::int32_t{}) : read(std::int64_t{});
  }
  if (bits == 8) return read(std::uint8_t{});
  if (bits == 16) return read(std::uint16_t{});
  if (bits == 32) return read(std::uint32_t{});
  return static_cast<long long>(
      std::min<std::uint64_t>(read(std::uint64_t{}), std::numeric_limits<std::int64_t>::max()));
}

void put_integer(char* at, int bits, long long value) {
  if (bits == 64) {
    std::memcpy(at, &value, sizeof value);
  } else {
    const auto narrow = static_cast<std::int32_t>(std::clamp<long long>(
        value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
    std::memcpy(at, &narrow, sizeof narrow);
  }
}

bool same_type(const View& to, const Source& from) {
  return to.type.code == from.type.code && to.type.bits == from.type.bits;
}

/// `from`: its data, or a copy of them in host memory.
void copy_on_host(const View& to, const Source& from) {
  const bool same = same_type(to, from);
  const bool dense = to.columns() == 1 || (to.column_stride() == 1 && from.stride_bytes[1] == to.size());
  for (std::int64_t r = 0; r < to.shape[0]; ++r) {
    if (same && dense) {
      std::memcpy(to.data + r * to.strides[0] * to.size(), from.data + r * from.stride_bytes[0],
                  static_cast<std::size_t>(to.columns() * to.size()));
      continue;
    }
    for (std::int64_t c = 0; c < to.columns(); ++c) {
      char* const target = to.data + (r * to.strides[0] + c * to.column_stride()) * to.size();
      const char* const source = from.data + r * from.stride_bytes[0] + c * from.stride_bytes[1];
      if (same)
        std::memcpy(target, source, static_cast<std::size_t>(to.size()));
      else
        put_integer(target, to.type.bits, integer_at(source, from.type.bits, from.type.code == 0));
    }
  }
}

#if defined(ASSAY_WITH_CUDA)
std::size_t bytes(std::int64_t n) { return static_cast<std::size_t>(n); }

cudaError_t rows_to_device(const View& to, const void* from, std::int64_t pitch, cudaMemcpyKind kind,
                           cudaStream_t stream) {
  return cudaMemcpy2DAsync(to.data, bytes(to.strides[0] * to.size()), from, bytes(pitch),
                           bytes(to.columns() * to.size()), bytes(to.shape[0]), kind, stream);
}

/// Through the host: elements that do not lie side by side, and integers of another type.
cudaError_t copy_by_host(const View& to, const Source& from, cudaStream_t stream) {
  std::int64_t lowest = 0, highest = from.size();
  for (int i = 0; i < 2; ++i) {
    const std::int64_t n = i == 0 ? to.shape[0] : to.columns(), last = (n - 1) * from.stride_bytes[i];
    lowest += std::min<std::int64_t>(last, 0);
    highest += std::max<std::int64_t>(last, 0);
  }
  std::vector<char> source(bytes(highest - lowest)), dense(bytes(to.shape[0] * to.columns() * to.size()));
  cudaError_t e =
      cudaMemcpyAsync(source.data(), from.data + lowest, source.size(), cudaMemcpyDeviceToHost, stream);
  if (e == cudaSuccess) e = cudaStreamSynchronize(stream);
  if (e != cudaSuccess) return e;
  View rows = to;
  rows.data = dense.data();
  rows.strides[0] = to.columns();
  Source staged = from;
  staged.data = source.data() - lowest;
  copy_on_host(rows, staged);
  e = rows_to_device(to, dense.data(), to.columns() * to.size(), cudaMemcpyHostToDevice, stream);
  return e == cudaSuccess ? cudaStreamSynchronize(stream) : e;
}
#endif

std::string copy_on_device(const View& to, const Source& from, void* stream, bool wait) {
#if defined(ASSAY_WITH_CUDA)
  const auto on = static_cast<cudaStream_t>(stream);
  const bool dense = to.columns() == 1 || from.stride_bytes[1] == from.size();
  // A pitch below the row's width is one that this call of CUDA does not take: rows that lie on one another.
  const bool plain = to.shape[0] == 1 || from.stride_bytes[0] >= to.columns() * to.size();
  cudaError_t e;
  if (same_type(to, from) && dense && plain) {
    const std::int64_t pitch = to.shape[0] == 1 ? to.columns() * to.size() : from.stride_bytes[0];
    e = rows_to_device(to, from.data, pitch, cudaMemcpyDeviceToDevice, on);
    if (e == cudaSuccess && wait) e = cudaStreamSynchronize(on);
  } else {
    e = copy_by_host(to, from, on);
  }
  return e == cudaSuccess ? std::string() : cudaGetErrorString(e);
#else
  (void)to, (void)from, (void)stream, (void)wait;
  return "a tensor on a device, which this build has no side for";
#endif
}

}  // namespace

View::View(const assay_tensor& t, bool flat, bool bools)
    : data(static_cast<char*>(t.data)),
      device_type(t.device.device_type),
      device_id(t.device.device_id),
      ndim(t.ndim),
      type(t.dtype) {
  if (bools) type.code = 6;
  for (int i = 0; i < ndim; ++i) {
    shape[i] = t.shape[i];
    strides[i] = t.strides[i];
  }
  if (flat && ndim == 2) {
    ndim = 1;
    shape[0] *= shape[1];
  }
}

std::int64_t View::extent() const {
  if (empty()) return 0;
  return ((shape[0] - 1) * strides[0] + (columns() - 1) * column_stride() + 1) * size();
}

std::string View::dtype() const { return type_name(type).shown; }
std::string View::long_dtype() const { return type_name(type).of_numpy; }
std::string View::words() const {
  return long_dtype() + " of shape [" + std::to_string(shape[0]) +
         (ndim > 1 ? ", " + std::to_string(shape[1]) : "") + "]";
}

Ref capsule_of(const View& v) {
  auto* const m = static_cast<Owned*>(std::malloc(sizeof(Owned)));
  if (!m) throw Failure{"memory: no DLPack tensor can be made", "memory"};
  for (int i = 0; i < 2; ++i) {
    m->own_shape[i] = v.shape[i];
    m->own_strides[i] = v.strides[i];
  }
  m->tensor = {v.data, {v.device_type, v.device_id}, v.ndim, v.type, m->own_shape, m->own_strides, 0};
  m->context = nullptr;
  m->deleter = [](Managed* own) { std::free(static_cast<Owned*>(own)); };
  return need(py.PyCapsule_New(static_cast<Managed*>(m), kCapsule, free_unused));
}

Source source_of(Object* capsule) {
  if (!capsule || py.PyCapsule_IsValid(capsule, kCapsule) == 0)
    throw Failure{"returned a tensor whose __dlpack__ gives no capsule of DLPack"};
  const assay_tensor& t = static_cast<const Managed*>(py.PyCapsule_GetPointer(capsule, kCapsule))->tensor;
  Source s;
  s.data = static_cast<const char*>(t.data) + t.byte_offset;
  s.device_type = t.device.device_type;
  s.device_id = t.device.device_id;
  s.ndim = t.ndim;
  s.type = t.dtype;
  if (t.dtype.lanes != 1) s.type.bits = 0;
  for (int i = 0; i < t.ndim && i < 2; ++i) {
    s.shape[i] = t.shape[i];
    const std::int64_t dense = i + 1 < t.ndim ? t.shape[1] : 1;
    s.stride_bytes[i] = (t.strides ? t.strides[i] : dense) * s.size();
  }
  return s;
}

bool same_shape(const View& to, const Source& from) {
  const bool column = from.ndim == 2 && to.ndim == 1 && from.shape[1] == 1;
  return (from.ndim == to.ndim || column) && from.shape[0] == to.shape[0] &&
         (from.ndim == 2 ? from.shape[1] : 1) == to.columns();
}

std::string copy(const View& to, const Source& from, void* stream, bool wait) {
  if (!same_shape(to, from)) return "a tensor of another shape than the output's";
  const bool integers = to.integers() && from.type.code <= 1 && from.type.bits >= 8;
  if (!same_type(to, from) && !integers) return "a tensor of another type than the output's";
  if (to.device_type != from.device_type || (to.device_type == kCuda && to.device_id != from.device_id))
    return "a tensor that lies elsewhere than the output";
  if (to.empty()) return {};
  if (to.device_type == kCuda) return copy_on_device(to, from, stream, wait);
  copy_on_host(to, from);
  return {};
}

void wait_for(void* stream) {
#if defined(ASSAY_WITH_CUDA)
  // Errors are ignored here: the supervisor learns of them when it asks for the launch's end.
  (void)cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
#else
  (void)stream;
#endif
}

}  // namespace assay::python
