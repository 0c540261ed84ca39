// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/framework.hpp"

#include <cstring>
#include <map>
#include <string_view>

namespace assay::python {
namespace {

constexpr int kWritable = 0x200, kFlagsOfFromMemory = kWritable, kStrided = 0x18;
constexpr int kEqual = 2;

const char* numpy_code(const std::string& dtype) {
  static const std::map<std::string, const char*> all = {{"f16", "<f2"}, {"f32", "<f4"}, {"f64", "<f8"},
                                                         {"i32", "<i4"}, {"i64", "<i8"}, {"bf16", "<V2"},
                                                         {"u8", "|u1"},  {"bool", "|b1"}};
  return all.at(dtype);
}

Ref numbers(const View& v, std::int64_t times, const std::int64_t* of) {
  const Ref tuple = need(py.PyTuple_New(v.ndim));
  for (int i = 0; i < v.ndim; ++i) py.PyTuple_SetItem(tuple.get(), i, integer(of[i] * times).release());
  return tuple;
}

/// NumPy's arrays.
class Numpy : public Framework {
 public:
  Numpy() {
    const Ref module = import_framework("numpy", version_);
    array_ = attribute(module.get(), "ndarray");
    dtype_ = attribute(module.get(), "dtype");
    asarray_ = attribute(module.get(), "asarray");
    if (!is_native_type(array_.get(), "numpy") || !is_native_type(dtype_.get(), "numpy") ||
        !is_native_function(asarray_.get(), "asarray", "numpy"))
      throw Failure{"numpy.ndarray, numpy.dtype or numpy.asarray is not NumPy's own"};
  }

  void check_dtype(const std::string& dtype) override {
    if (dtype != "bf16" || bfloat16_) return;
    const Ref module(py.PyImport_ImportModule("ml_dtypes"));
    if (!module) {
      py.PyErr_Clear();
      throw missing("ml_dtypes", "bf16 of NumPy");
    }
    bfloat16_ = attribute(module.get(), "bfloat16");
  }

  Ref wrap(const View& v) override {
    const Ref keywords = need(py.PyDict_New());
    if (!v.empty()) {
      const Ref memory = need(
          py.PyMemoryView_FromMemory(v.data, static_cast<std::ptrdiff_t>(v.extent()), kFlagsOfFromMemory));
      py.PyDict_SetItemString(keywords.get(), "buffer", memory.get());
      py.PyDict_SetItemString(keywords.get(), "strides", numbers(v, v.size(), v.strides).get());
    }
    return call(array_.get(), {numbers(v, 1, v.shape), dtype_of(v.dtype())}, keywords);
  }

  void put(Object* result, const View& out, void*) override {
    const Ref all = call(asarray_.get(), {Ref::borrowed(result)});
    if (!is_instance(all.get(), array_.get())) throw returned(result, out.words());
    const Ref dtype = attribute(all.get(), "dtype");
    const std::string kind = string_of(attribute(dtype.get(), "kind").get());
    const Ref wanted = dtype_of(out.dtype());
    const bool same = py.PyObject_RichCompareBool(dtype.get(), wanted.get(), kEqual) == 1;
    py.PyErr_Clear();
    const bool native = py.PyObject_IsTrue(attribute(dtype.get(), "isnative").get()) == 1;
    if (!same && !(out.integers() && native && (kind == "i" || kind == "u")))
      throw returned(all.get(), out.words());
    Ref readable = all;
    // The buffer protocol has no bf16: its bytes are read as integers.
    if (out.dtype() == "bf16") readable = call(attribute(all.get(), "view").get(), {text_of("<u2")});
    RawBuffer buffer{};
    if (py.PyObject_GetBuffer(readable.get(), &buffer, kStrided) != 0) need(nullptr);
    Source from;
    from.data = static_cast<const char*>(buffer.buf);
    from.ndim = buffer.ndim;
    from.type = out.type;
    if (!same)
      from.type = {static_cast<std::uint8_t>(kind == "u"), static_cast<std::uint8_t>(8 * buffer.itemsize), 1};
    for (int i = 0; i < buffer.ndim && i < 2; ++i) {
      from.shape[i] = buffer.shape[i];
      from.stride_bytes[i] = buffer.strides[i];
    }
    // A copy of host memory has no stream and can not fail for any other reason than its shape.
    const std::string why = copy(out, from, nullptr, true);
    py.PyBuffer_Release(&buffer);
    if (!why.empty()) throw returned(all.get(), out.words());
  }

 private:
  Ref dtype_of(const std::string& name) {
    Ref& known = dtypes_[name];
    if (!known) {
      if (name == "bf16") check_dtype(name);
      known = call(dtype_.get(), {name == "bf16" ? bfloat16_ : text_of(numpy_code(name))});
    }
    return known;
  }
  Ref array_, dtype_, asarray_, bfloat16_;
  std::map<std::string, Ref> dtypes_;
};

/// What Python calls. Nothing may be thrown through it.
template <class Make>
Object* made_of_view(Object* self, Make make) {
  const auto* const view = static_cast<const View*>(py.PyCapsule_GetPointer(self, nullptr));
  if (!view) return nullptr;
  try {
    return make(*view).release();
  } catch (const Failure&) {
    return py.PyErr_NoMemory();
  }
}
Object* dlpack_method(Object* self, Object*, Object*) { return made_of_view(self, capsule_of); }
Object* device_method(Object* self, Object*, Object*) {
  return made_of_view(self, [](const View& view) {
    Ref pair = need(py.PyTuple_New(2));
    py.PyTuple_SetItem(pair.get(), 0, integer(view.device_type).release());
    py.PyTuple_SetItem(pair.get(), 1, integer(view.device_id).release());
    return pair;
  });
}
MethodDef methods[] = {{"__dlpack__", dlpack_method, 0x3, nullptr},  // positional and keyword arguments
                       {"__dlpack_device__", device_method, 0x3, nullptr}};

/// Raw tensors: the callable gets objects with `data`, `shape`, `strides`, `dtype`, `__dlpack__` and the
/// array interface of the device. They are plain data and functions of native code.
class Raw : public Framework {
 public:
  Raw() {
    version_ = "raw tensors";
    const Ref type(py.PyObject_Type(py.PyModule_Type));
    type_ = call(type.get(), {text_of("Tensor"), need(py.PyTuple_New(0)), need(py.PyDict_New())});
  }
  bool on_stream() const override { return true; }
  const char* untimed() const override {
    return "it returns a raw tensor, whose copy waits for the GPU: a callable that writes its output is "
           "timed";
  }

  Ref wrap(const View& v) override {
    const Ref tensor = need(py.PyObject_Call(type_.get(), need(py.PyTuple_New(0)).get(), nullptr));
    const auto set = [&](const char* name, const Ref& value) {
      if (py.PyObject_SetAttrString(tensor.get(), name, value.get()) != 0) need(nullptr);
    };
    const auto address = static_cast<long long>(reinterpret_cast<std::uintptr_t>(v.data));
    set("data", integer(address));
    set("shape", numbers(v, 1, v.shape));
    set("strides", numbers(v, 1, v.strides));
    set("dtype", text_of(v.dtype()));
    const Ref self = need(py.PyCapsule_New(new View(v), nullptr, [](Object* capsule) {
      delete static_cast<View*>(py.PyCapsule_GetPointer(capsule, nullptr));
    }));
    for (MethodDef& method : methods)
      set(method.name, need(py.PyCFunction_NewEx(&method, self.get(), nullptr)));
    const Ref interface = need(py.PyDict_New()), place = need(py.PyTuple_New(2));
    py.PyTuple_SetItem(place.get(), 0, integer(address).release());
    py.PyTuple_SetItem(place.get(), 1, Ref::borrowed(py._Py_FalseStruct).release());
    py.PyDict_SetItemString(interface.get(), "shape", numbers(v, 1, v.shape).get());
    py.PyDict_SetItemString(interface.get(), "typestr", text_of(numpy_code(v.dtype())).get());
    py.PyDict_SetItemString(interface.get(), "data", place.get());
    py.PyDict_SetItemString(interface.get(), "strides", numbers(v, v.size(), v.strides).get());
    py.PyDict_SetItemString(interface.get(), "version", integer(3).get());
    set(v.device_type == kHost ? "__array_interface__" : "__cuda_array_interface__", interface);
    return tensor;
  }

  void put(Object* result, const View& out, void* stream) override {
    const Ref method = attribute(result, "__dlpack__");
    if (!method) {
      Failure f = returned(result, "");
      f.text += ", which has no __dlpack__";
      throw f;
    }
    if (out.empty()) return;
    const Ref keywords = need(py.PyDict_New());
    if (stream && out.device_type == kCuda)
      py.PyDict_SetItemString(
          keywords.get(), "stream",
          integer(static_cast<long long>(reinterpret_cast<std::uintptr_t>(stream))).get());
    const Ref capsule = call(method.get(), {}, keywords);
    // Wait, because the result may be freed as soon as this has returned.
    const std::string why = copy(out, source_of(capsule.get()), stream, true);
    if (!why.empty()) throw Failure{"returned " + why};
  }

 private:
  Ref type_;
};

/// JAX works on streams of its own. So the call first waits for the logits, and then for the result.
class Jax : public Raw {
 public:
  Jax() {
    module_ = import_framework("jax", version_);
    array_ = attribute(need(py.PyImport_ImportModule("jax.numpy")).get(), "array");
    from_dlpack_ = attribute(need(py.PyImport_ImportModule("jax.dlpack")).get(), "from_dlpack");
  }
  bool on_stream() const override { return false; }
  const char* untimed() const override {
    return "JAX works on streams of its own, which a stopwatch on the call's stream does not see";
  }
  void check_dtype(const std::string& dtype) override { host_.check_dtype(dtype); }
  bool has_gpu() const override {
    const Ref backend = call(attribute(module_.get(), "default_backend").get(), {});
    const std::string name = string_of(backend.get());
    return name == "gpu" || name == "cuda";
  }

  Ref wrap(const View& v) override {
    if (v.empty() || v.device_type == kHost) return copied(v);
    if (v.ndim > 1 && v.shape[0] > 1 && v.strides[0] != v.shape[1])
      throw Failure{"JAX takes no rows with gaps between them: declare dense=yes"};
    return call(from_dlpack_.get(), {Raw::wrap(v)});
  }
  void put(Object* result, const View& out, void* stream) override {
    if (const Ref wait = attribute(result, "block_until_ready")) call(wait.get(), {});
    Raw::put(result, out, stream);
  }

 private:
  Ref copied(const View& v) {
    const Ref made = call(array_.get(), {host_.wrap(v)});
    if (v.empty()) return made;
    // jax.numpy.array is Python code. What it gave must be the logits that it was given.
    View kept = v;
    std::string bytes(static_cast<std::size_t>(v.shape[0] * v.columns() * v.size()), '\0');
    kept.data = bytes.data();
    kept.strides[0] = v.columns();
    if (v.ndim == 1) kept.strides[0] = 1;
    host_.put(made.get(), kept, nullptr);
    for (std::int64_t r = 0; r < v.shape[0]; ++r) {
      const auto row = static_cast<std::size_t>(v.columns() * v.size());
      const std::int64_t stride = v.strides[0] * v.size();
      if (std::memcmp(bytes.data() + static_cast<std::size_t>(r) * row, v.data + r * stride, row) != 0)
        throw Failure{"jax.numpy.array gave other values than it was given"};
    }
    return made;
  }
  Numpy host_;
  Ref module_, array_, from_dlpack_;
};

}  // namespace

Failure missing(const std::string& name, const std::string& who) {
  static const std::map<std::string, std::string, std::less<>> packages = {
      {"cupy", "cupy-cuda12x"}, {"cutlass", "nvidia-cutlass-dsl"}, {"cuda", "cuda-python"}};
  const std::string top = name.substr(0, name.find('.'));
  const auto known = packages.find(top);
  const std::string python = shown(py.PySys_GetObject("executable"));
  return {who + " imports " + name + ", which " + python + " does not have: " + python + " -m pip install " +
              (known == packages.end() ? top : known->second),
          "lacks"};
}

Ref import_framework(const std::string& name, std::string& version) {
  Ref module(py.PyImport_ImportModule(name.c_str()));
  if (!module) {
    const Raised raised = take_raised();
    if (!raised.is(py.PyExc_ModuleNotFoundError)) throw Failure{raised.words()};
    const std::string lacks = string_of(attribute(raised.value.get(), "name").get());
    throw missing(lacks.empty() ? name : lacks, "a callable of its tensors");
  }
  version = name;
  if (const std::string number = shown(attribute(module.get(), "__version__").get()); !number.empty())
    version += " " + number;
  return module;
}

Failure returned(Object* result, const std::string& instead) {
  const Ref dtype = attribute(result, "dtype"), type(py.PyObject_Type(result));
  std::string words = dtype ? shown(dtype.get()) : string_of(attribute(type.get(), "__name__").get());
  if (words.starts_with("torch.")) words.erase(0, 6);
  std::string shape;
  if (const Ref given = attribute(result, "shape")) {
    const Ref all(py.PySequence_Tuple(given.get()));
    py.PyErr_Clear();
    for (std::ptrdiff_t i = 0; all && i < py.PyTuple_Size(all.get()); ++i)
      shape += (i > 0 ? ", " : "") + shown(py.PyTuple_GetItem(all.get(), i));
  }
  return {"returned " + words + " of shape [" + shape + "]" +
          (instead.empty() ? "" : ": " + instead + " is the output")};
}

std::unique_ptr<Framework> framework_of(const std::string& kind) {
  if (kind == "torch") return make_torch();
  if (kind == "cupy") return make_cupy();
  if (kind == "jax") return std::make_unique<Jax>();
  if (kind == "dlpack") return std::make_unique<Raw>();
  return std::make_unique<Numpy>();
}

}  // namespace assay::python
