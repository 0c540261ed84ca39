// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/api.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "kernels/adapter/embedded.hpp"

namespace assay::python {

Api py;

namespace {

Object* builtins = nullptr;

template <class Function>
bool find(Function& into, const char* name) {
  into = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  return into != nullptr;
}

}  // namespace

const char* load_api() {
#define ASSAY_FIND(result, name, parameters) \
  if (!find(py.name, #name)) return #name;
  ASSAY_PYTHON_FUNCTIONS(ASSAY_FIND)
#undef ASSAY_FIND
#define ASSAY_FIND(name) \
  if (!find(py.name, #name)) return #name;
  ASSAY_PYTHON_OBJECTS(ASSAY_FIND)
#undef ASSAY_FIND
#define ASSAY_FIND(name)                                    \
  Object** at_##name = nullptr;                             \
  if (!find(at_##name, #name) || !*at_##name) return #name; \
  py.name = *at_##name;
  ASSAY_PYTHON_EXCEPTIONS(ASSAY_FIND)
#undef ASSAY_FIND
  return nullptr;
}

Raised take_raised() {
  Object *type = nullptr, *value = nullptr, *trace = nullptr;
  py.PyErr_Fetch(&type, &value, &trace);
  py.PyErr_NormalizeException(&type, &value, &trace);
  const Ref ends(trace);
  return {Ref(type), Ref(value)};
}

std::string Raised::words() const {
  const std::string name = type ? string_of(attribute(type.get(), "__qualname__").get()) : "an exception";
  std::string text = value ? shown(value.get()) : "";
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  text.erase(0, std::min(text.find_first_not_of(kSpace), text.size()));
  text.erase(std::min(text.find_first_of("\r\n\v\f"), text.size()));
  text.erase(text.find_last_not_of(kSpace) + 1);
  return text.empty() ? name : name + ": " + text;
}

bool Raised::is(Object* exception) const {
  return type && py.PyErr_GivenExceptionMatches(type.get(), exception) != 0;
}

bool Raised::out_of_memory() const {
  return is(py.PyExc_MemoryError) ||
         (type && string_of(attribute(type.get(), "__name__").get()) == "OutOfMemoryError");
}

Ref need(Object* object) {
  if (object) return Ref(object);
  const Raised raised = take_raised();
  const std::string words = raised.words();
  throw Failure{"threw an exception: " + words, raised.out_of_memory() ? "memory" : "threw", words};
}

Ref text_of(const std::string& utf8) {
  return need(py.PyUnicode_DecodeUTF8(utf8.data(), static_cast<std::ptrdiff_t>(utf8.size()), "replace"));
}

Ref path_of(const std::string& path) {
  return need(py.PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<std::ptrdiff_t>(path.size())));
}

Ref compiled(const Ref& source, const Ref& path) {
  Object* const compile = py.PyDict_GetItemString(builtins, "compile");
  const Ref all = need(py.PyTuple_New(5));
  py.PyTuple_SetItem(all.get(), 0, Ref(source).release());
  py.PyTuple_SetItem(all.get(), 1, Ref(path).release());
  py.PyTuple_SetItem(all.get(), 2, text_of("exec").release());
  py.PyTuple_SetItem(all.get(), 3, integer(0).release());
  py.PyTuple_SetItem(all.get(), 4, Ref::borrowed(py._Py_TrueStruct).release());
  return Ref(py.PyObject_Call(compile, all.get(), nullptr));
}

std::string string_of(Object* text) {
  if (!text || !is_instance(text, py.PyUnicode_Type)) return {};
  const Ref bytes(py.PyUnicode_AsEncodedString(text, "utf-8", "replace"));
  char* at = nullptr;
  std::ptrdiff_t length = 0;
  if (!bytes || py.PyBytes_AsStringAndSize(bytes.get(), &at, &length) != 0) {
    py.PyErr_Clear();
    return {};
  }
  return std::string(at, static_cast<std::size_t>(length));
}

std::string shown(Object* object) {
  const Ref text(object ? py.PyObject_Str(object) : nullptr);
  if (!text) py.PyErr_Clear();
  return string_of(text.get());
}

Ref attribute(Object* object, const char* name) {
  Ref found(object ? py.PyObject_GetAttrString(object, name) : nullptr);
  if (!found) py.PyErr_Clear();
  return found;
}

Ref call(Object* function, const std::initializer_list<Ref>& positional, const Ref& keywords) {
  const Ref all = need(py.PyTuple_New(static_cast<std::ptrdiff_t>(positional.size())));
  std::ptrdiff_t i = 0;
  for (Ref one : positional) py.PyTuple_SetItem(all.get(), i++, one.release());
  return need(py.PyObject_Call(function, all.get(), keywords.get()));
}

Ref integer(long long value) { return need(py.PyLong_FromLongLong(value)); }
Ref none() { return Ref::borrowed(py._Py_NoneStruct); }

bool is_instance(Object* object, Object* type) {
  const Ref own(py.PyObject_Type(object));
  return own && py.PyType_IsSubtype(own.get(), type) != 0;
}

namespace {

bool lies_in(void* address, const char* package) {
  Dl_info info{};
  return address && dladdr(address, &info) != 0 && info.dli_fname &&
         std::strstr(info.dli_fname, package) != nullptr;
}

}  // namespace

bool is_native_function(Object* function, const char* name, const char* package) {
  if (!function || Ref(py.PyObject_Type(function)).get() != py.PyCFunction_Type) return false;
  Object* const self = py.PyCFunction_GetSelf(function);
  if (self && !is_instance(self, py.PyModule_Type) &&
      !(is_instance(self, Ref(py.PyObject_Type(py.PyModule_Type)).get()) && is_native_type(self, package)))
    return false;
  return string_of(attribute(function, "__name__").get()) == name &&
         lies_in(py.PyCFunction_GetFunction(function), package);
}

bool is_native_type(Object* type, const char* package) {
  constexpr unsigned long kHeapType = 1ul << 9;
  const Ref metatype(py.PyObject_Type(py.PyModule_Type));
  return type && is_instance(type, metatype.get()) && (py.PyType_GetFlags(type) & kHeapType) == 0 &&
         lies_in(type, package);
}

void keep_builtins() { builtins = need(py.PyDict_Copy(py.PyEval_GetBuiltins())).release(); }

std::string run_text(const char* file, const Ref& given) {
  const EmbeddedText* found = nullptr;
  for (const EmbeddedText& one : embedded_texts())
    if (one.path.ends_with(std::string("/") + file)) found = &one;
  if (!found) throw Failure{std::string(file) + ": this build lacks it"};
  const Ref code = compiled(text_of(std::string(found->text)), text_of("<string>"));
  if (!code) need(nullptr);
  // The text's functions and their namespace refer to each other. It is emptied afterwards, so that all of it
  // goes.
  const Ref space = need(py.PyDict_Copy(given.get()));
  const Ref own_builtins = need(py.PyDict_Copy(builtins));
  py.PyDict_SetItemString(space.get(), "__builtins__", own_builtins.get());
  py.PyDict_SetItemString(space.get(), "__name__", text_of("__main__").get());
  const Ref result(py.PyEval_EvalCode(code.get(), space.get(), space.get()));
  if (!result) need(nullptr);
  const std::string answer = string_of(py.PyDict_GetItemString(space.get(), "answer"));
  py.PyDict_Clear(space.get());
  return answer;
}

}  // namespace assay::python
