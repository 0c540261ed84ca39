// SPDX-License-Identifier: Apache-2.0
// torch and CuPy.
#include "kernels/python/worker/framework.hpp"

namespace assay::python {
namespace {

long long number_of(const void* pointer) {
  return static_cast<long long>(reinterpret_cast<std::uintptr_t>(pointer));
}

class Torch : public Framework {
 public:
  Torch() {
    module_ = import_framework("torch", version_);
    core_ = need(py.PyImport_ImportModule("torch._C"));
    base_ = attribute(core_.get(), "TensorBase");
    if (!base_) base_ = attribute(core_.get(), "_TensorBase");
    from_ = native("_from_dlpack");
    to_ = native("_to_dlpack");
    if (!is_native_type(base_.get(), "torch")) throw Failure{"torch's tensors are not torch's own"};
  }

  bool has_gpu() const override {
    const Ref cuda = attribute(module_.get(), "cuda");
    return py.PyObject_IsTrue(call(attribute(cuda.get(), "is_available").get(), {}).get()) == 1;
  }

  Ref wrap(const View& v) override {
    if (v.empty()) return empty(v);
    return call(from_.get(), {capsule_of(v)});
  }

  bool on_stream() const override { return true; }
  Ref enter(void* handle, int device) override {
    if (!handle) return {};
    set_stream(number_of(handle), device);
    return none();
  }
  void leave(const Ref&, int device) override { set_stream(0, device); }

  void put(Object* result, const View& out, void* stream) override {
    if (!is_instance(result, base_.get())) throw returned(result, out.words());
    const Ref capsule = call(to_.get(), {Ref::borrowed(result)});
    // It is not waited for the copy: torch gives the result's memory to later work on the same stream only.
    if (!copy(out, source_of(capsule.get()), stream, false).empty()) {
      const std::string where = " on " + shown(attribute(result, "device").get());
      const std::string place =
          out.device_type == kHost ? " on cpu" : " on cuda:" + std::to_string(out.device_id);
      Failure f = returned(result, "");
      f.text += where + ": " + out.words() + place + " is the output";
      throw f;
    }
  }

 private:
  Ref native(const char* name) const {
    Ref found = attribute(core_.get(), name);
    if (!is_native_function(found.get(), name, "torch"))
      throw Failure{std::string("torch._C.") + name + " is not torch's own, or this torch is older than 2.0"};
    return found;
  }

  Ref empty(const View& v) {
    const Ref make = attribute(module_.get(), "empty"), keywords = need(py.PyDict_New());
    const std::string where = v.device_type == kHost ? "cpu" : "cuda:" + std::to_string(v.device_id);
    py.PyDict_SetItemString(keywords.get(), "device", text_of(where).get());
    py.PyDict_SetItemString(keywords.get(), "dtype", attribute(module_.get(), v.long_dtype().c_str()).get());
    const Ref shape = need(py.PyTuple_New(v.ndim));
    for (int i = 0; i < v.ndim; ++i) py.PyTuple_SetItem(shape.get(), i, integer(v.shape[i]).release());
    return call(make.get(), {shape}, keywords);
  }

  void set_stream(long long handle, int device) {
    if (!stream_) {
      // Its first use of the GPU.
      call(attribute(attribute(module_.get(), "cuda").get(), "init").get(), {});
      stream_ = native("_cuda_setStream");
    }
    const Ref keywords = need(py.PyDict_New());
    py.PyDict_SetItemString(keywords.get(), "stream_id", integer(handle).get());
    py.PyDict_SetItemString(keywords.get(), "device_index", integer(device).get());
    py.PyDict_SetItemString(keywords.get(), "device_type", integer(1).get());
    call(stream_.get(), {}, keywords);
  }

  Ref module_, core_, base_, from_, to_, stream_;
};

class Cupy : public Framework {
 public:
  Cupy() {
    module_ = import_framework("cupy", version_);
    // Since version 11 cupy.ndarray is Python's subclass of this type.
    base_ = attribute(attribute(attribute(module_.get(), "_core").get(), "core").get(), "_ndarray_base");
    if (!base_) base_ = attribute(module_.get(), "ndarray");
    if (!is_native_type(base_.get(), "cupy")) throw Failure{"cupy.ndarray is not CuPy's own"};
    interface_ = attribute(base_.get(), "__cuda_array_interface__");
    asarray_ = attribute(module_.get(), "asarray");
    raw_ = framework_of("dlpack");
  }
  bool has_gpu() const override { return true; }
  void check_dtype(const std::string& dtype) override {
    if (dtype == "bf16")
      throw Failure{"bf16 is no type of CuPy's: install torch, and say assay_tensors = 'torch'", "lacks"};
  }

  Ref wrap(const View& v) override {
    const Ref made = call(asarray_.get(), {raw_->wrap(v)});
    // cupy.asarray is Python code. What it gave must lie where the buffer does.
    if (!v.empty() && read(made.get()).data != v.data)
      throw Failure{"cupy.asarray gave another array than it was given"};
    return made;
  }

  bool on_stream() const override { return true; }
  Ref enter(void* handle, int device) override {
    if (!handle) return {};
    const Ref type = attribute(attribute(module_.get(), "cuda").get(), "ExternalStream");
    const Ref stream = call(type.get(), {integer(number_of(handle)), integer(device)});
    call(attribute(stream.get(), "__enter__").get(), {});
    return stream;
  }
  void leave(const Ref& stream, int) override {
    call(attribute(stream.get(), "__exit__").get(), {none(), none(), none()});
  }

  void put(Object* result, const View& out, void* stream) override {
    if (!is_instance(result, base_.get())) throw returned(result, out.words());
    Source from = read(result);
    from.device_id = out.device_id;
    if (!copy(out, from, stream, false).empty()) throw returned(result, out.words());
  }

 private:
  /// By the type's own description of its memory, which no subclass and no module can replace.
  Source read(Object* array) const {
    if (!is_instance(array, base_.get())) throw returned(array, "");
    const Ref all = call(attribute(interface_.get(), "__get__").get(), {Ref::borrowed(array)});
    const auto item = [&](const char* name) { return py.PyDict_GetItemString(all.get(), name); };
    const auto at = [](Object* tuple, std::ptrdiff_t i) {
      return py.PyLong_AsLongLong(py.PyTuple_GetItem(tuple, i));
    };
    Source s;
    s.device_type = kCuda;
    s.data = reinterpret_cast<const char*>(static_cast<std::uintptr_t>(at(item("data"), 0)));
    const std::string type = string_of(item("typestr"));
    const std::string_view kinds = "iu f";
    const std::size_t kind = type.size() < 3 || type[0] == '>' ? kinds.npos : kinds.find(type[1]);
    if (kind == kinds.npos) throw returned(array, "");
    s.type = {static_cast<std::uint8_t>(kind == 3 ? 2 : kind),
              static_cast<std::uint8_t>(8 * std::stoi(type.substr(2))), 1};
    Object *const shape = item("shape"), *const strides = item("strides");
    s.ndim = static_cast<int>(py.PyTuple_Size(shape));
    for (int i = s.ndim - 1; i >= 0; --i) {
      if (i >= 2) continue;
      s.shape[i] = at(shape, i);
      const bool given = strides && strides != py._Py_NoneStruct;
      s.stride_bytes[i] = given ? at(strides, i) : i + 1 < s.ndim ? s.shape[1] * s.size() : s.size();
    }
    return s;
  }
  Ref module_, base_, interface_, asarray_;
  std::unique_ptr<Framework> raw_;
};

}  // namespace

std::unique_ptr<Framework> make_torch() { return std::make_unique<Torch>(); }
std::unique_ptr<Framework> make_cupy() { return std::make_unique<Cupy>(); }

}  // namespace assay::python
