// cuDNN's softmax, found at run time: a right kernel by somebody else. Nothing of cuDNN is needed to build
// this; without a GPU or the library the entry says so and does not run.
#include <dlfcn.h>

#include <cstdint>

#include "kernels/device.hpp"
#include "kernels/mutants/mutants.hpp"

namespace assay {
namespace {

/// The part of cuDNN's C interface that is used; types and values are those of its documentation.
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

template <int kDataType>
void softmax(const Problem& p, const Buffers& b, const Stream& s) {
  constexpr int kAccurate = 1, kChannel = 1;
  if (p.rows == 0 || p.V == 0) return;
  Cudnn& c = cudnn();
  const auto n = static_cast<int>(p.rows), v = static_cast<int>(p.V);
  const float one = 1, zero = 0;
  c.set_stream(c.handle, s.handle);
  c.set_descriptor(c.in, kDataType, n, v, 1, 1, static_cast<int>(p.in_pitch), 1, 1, 1);
  c.set_descriptor(c.out, kDataType, n, v, 1, 1, static_cast<int>(p.out_pitch), 1, 1, 1);
  c.forward(c.handle, kAccurate, kChannel, &one, c.in, b.logits, &zero, c.out, b.probs);
}

bool plant(Dtype dtype, const char* fault, void (*run)(const Problem&, const Buffers&, const Stream&),
           const char* declaration) {
  Mutant m;
  m.variant.dtype = dtype;
  m.variant.backend = Backend::cuda;
  m.variant.file = __FILE__;
  m.variant.run = run;
  m.id = "R38";
  m.fault = fault;
  m.expect.family = "";
  m.expect.declaration = declaration;
  m.expect.only = "cuda";
  m.expect.why = "cuDNN works on a GPU";
  m.missing = [] { return cudnn().why; };
  return register_mutant(std::move(m));
}

// CUDNN_DATA_FLOAT is 0, CUDNN_DATA_HALF 2. Its division and its order of the sum are not documented. What
// cuDNN 9 was seen to do on an H200: rows of nothing but -inf come out as NaN at V = 1 and as 0 at V = 33;
// f16 results are off by up to 1.06 ulp, more than one rounding, as where numerators are kept in f16.
constexpr const char* kDeclared = "algorithm=safe; normalise=recomputed; exp=fast; finite=yes";
constexpr const char* kDeclaredHalf = "algorithm=safe; internals=f16; exp=half; finite=yes";
const bool planted[] = {
    plant(Dtype::f32, "right_cudnn", softmax<0>, kDeclared),
    plant(Dtype::f16, "right_cudnn_f16", softmax<2>, kDeclaredHalf),
};

}  // namespace
}  // namespace assay
