// SPDX-License-Identifier: Apache-2.0
#include "kernels/cudnn.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

#include "kernels/device.hpp"

namespace assay {
namespace {

/// The part of cuDNN's C interface that is used. Types and values are those of its documentation.
struct Cudnn {
  using Handle = void*;
  using Descriptor = void*;
  int (*create)(Handle*) = nullptr;
  int (*set_stream)(Handle, void*) = nullptr;
  int (*create_descriptor)(Descriptor*) = nullptr;
  int (*set_descriptor)(Descriptor, int, int, int, int, int, int, int, int, int) = nullptr;
  int (*forward)(Handle, int, int, const void*, Descriptor, const void*, const void*, Descriptor,
                 void*) = nullptr;
  Handle handle = nullptr;
  Descriptor in = nullptr, out = nullptr;
  std::string why = {};

  Cudnn() {
    if ((why = unavailable_reason(Backend::cuda)).empty()) open();
  }

 private:
  void open() {
    void* library = nullptr;
    if (const char* named = std::getenv("ASSAY_CUDNN"); named && *named) {
      library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
      if (!library) {
        why = std::string("ASSAY_CUDNN: ") + named + " can not be loaded";
        return;
      }
    }
    for (const char* name : {"libcudnn.so.9", "libcudnn.so.8", "libcudnn.so"})
      if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      why = "no libcudnn.so is found";
      return;
    }
    const auto find = [&](auto& f, const char* symbol) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(library, symbol));
      if (!f) why = std::string("libcudnn.so has no ") + symbol;
    };
    find(create, "cudnnCreate");
    find(set_stream, "cudnnSetStream");
    find(create_descriptor, "cudnnCreateTensorDescriptor");
    find(set_descriptor, "cudnnSetTensor4dDescriptorEx");
    find(forward, "cudnnSoftmaxForward");
    if (!why.empty()) return;
    if (create(&handle) != 0 || create_descriptor(&in) != 0 || create_descriptor(&out) != 0)
      why = "cuDNN can not be initialised";
  }
};
Cudnn& cudnn() {
  static Cudnn one;
  return one;
}

/// CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16.
int data_type(Dtype t) { return t == Dtype::f32 ? 0 : t == Dtype::f16 ? 2 : 9; }

}  // namespace

std::string cudnn_missing() { return cudnn().why; }

int cudnn_softmax(bool accurate, const Problem& p, const Buffers& b, const Stream& s) {
  constexpr int kFast = 0, kAccurate = 1, kChannel = 1;
  if (p.rows == 0 || p.V == 0) return 0;
  Cudnn& c = cudnn();
  const auto n = static_cast<int>(p.rows), v = static_cast<int>(p.V);
  const auto in = static_cast<int>(p.in_pitch), out = static_cast<int>(p.out_pitch);
  const float one = 1, zero = 0;
  if (const int e = c.set_stream(c.handle, s.handle)) return e;
  if (const int e = c.set_descriptor(c.in, data_type(p.in), n, v, 1, 1, in, 1, 1, 1)) return e;
  if (const int e = c.set_descriptor(c.out, data_type(p.out), n, v, 1, 1, out, 1, 1, 1)) return e;
  return c.forward(c.handle, accurate ? kAccurate : kFast, kChannel, &one, c.in, b.logits, &zero, c.out,
                   b.probs);
}

}  // namespace assay
