// SPDX-License-Identifier: Apache-2.0
// The part of CPython's C API that the worker calls. The interpreter that has loaded this library has these
// functions, so no header and no library of Python's is needed to build it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace assay::python {

struct Object;       // PyObject
struct ThreadState;  // PyThreadState

/// PyMethodDef and Py_buffer. Their layouts are part of Python's stable ABI.
struct MethodDef {
  const char* name;
  Object* (*function)(Object* self, Object* positional, Object* keywords);
  int flags;
  const char* doc;
};
struct RawBuffer {
  void* buf;
  Object* obj;
  std::ptrdiff_t len, itemsize;
  int readonly, ndim;
  char* format;
  std::ptrdiff_t *shape, *strides, *suboffsets;
  void* internal;
};

using AuditHook = int (*)(const char* event, Object* arguments, void* user);

// X(result, name, parameters)
#define ASSAY_PYTHON_FUNCTIONS(X)                                                 \
  X(void, Py_IncRef, (Object*))                                                   \
  X(void, Py_DecRef, (Object*))                                                   \
  X(Object*, PyObject_Type, (Object*))                                            \
  X(Object*, PyObject_Call, (Object*, Object*, Object*))                          \
  X(Object*, PyObject_GetAttrString, (Object*, const char*))                      \
  X(int, PyObject_SetAttrString, (Object*, const char*, Object*))                 \
  X(int, PyObject_SetItem, (Object*, Object*, Object*))                           \
  X(Object*, PyObject_Str, (Object*))                                             \
  X(int, PyObject_IsTrue, (Object*))                                              \
  X(int, PyObject_RichCompareBool, (Object*, Object*, int))                       \
  X(int, PyObject_GetBuffer, (Object*, RawBuffer*, int))                          \
  X(void, PyBuffer_Release, (RawBuffer*))                                         \
  X(int, PyCallable_Check, (Object*))                                             \
  X(Object*, PyUnicode_DecodeUTF8, (const char*, std::ptrdiff_t, const char*))    \
  X(Object*, PyUnicode_DecodeFSDefaultAndSize, (const char*, std::ptrdiff_t))     \
  X(Object*, PyUnicode_AsEncodedString, (Object*, const char*, const char*))      \
  X(Object*, PyUnicode_EncodeFSDefault, (Object*))                                \
  X(Object*, PyBytes_FromStringAndSize, (const char*, std::ptrdiff_t))            \
  X(int, PyBytes_AsStringAndSize, (Object*, char**, std::ptrdiff_t*))             \
  X(Object*, PyLong_FromLongLong, (long long))                                    \
  X(long long, PyLong_AsLongLong, (Object*))                                      \
  X(Object*, PyFloat_FromDouble, (double))                                        \
  X(Object*, PyTuple_New, (std::ptrdiff_t))                                       \
  X(int, PyTuple_SetItem, (Object*, std::ptrdiff_t, Object*))                     \
  X(std::ptrdiff_t, PyTuple_Size, (Object*))                                      \
  X(Object*, PyTuple_GetItem, (Object*, std::ptrdiff_t))                          \
  X(Object*, PySequence_Tuple, (Object*))                                         \
  X(int, PySequence_Contains, (Object*, Object*))                                 \
  X(Object*, PyDict_New, ())                                                      \
  X(Object*, PyDict_Copy, (Object*))                                              \
  X(void, PyDict_Clear, (Object*))                                                \
  X(int, PyDict_SetItemString, (Object*, const char*, Object*))                   \
  X(Object*, PyDict_GetItemString, (Object*, const char*))                        \
  X(int, PyDict_Next, (Object*, std::ptrdiff_t*, Object**, Object**))             \
  X(int, PyList_Insert, (Object*, std::ptrdiff_t, Object*))                       \
  X(Object*, PyModule_GetDict, (Object*))                                         \
  X(Object*, PyErr_Occurred, ())                                                  \
  X(void, PyErr_Fetch, (Object**, Object**, Object**))                            \
  X(void, PyErr_NormalizeException, (Object**, Object**, Object**))               \
  X(void, PyErr_Clear, ())                                                        \
  X(Object*, PyErr_NoMemory, ())                                                  \
  X(int, PyErr_GivenExceptionMatches, (Object*, Object*))                         \
  X(Object*, PyImport_ImportModule, (const char*))                                \
  X(Object*, PyImport_GetModuleDict, ())                                          \
  X(Object*, PyImport_ExecCodeModuleObject, (Object*, Object*, Object*, Object*)) \
  X(Object*, PySys_GetObject, (const char*))                                      \
  X(int, PySys_SetObject, (const char*, Object*))                                 \
  X(int, PySys_AddAuditHook, (AuditHook, void*))                                  \
  X(Object*, PyEval_EvalCode, (Object*, Object*, Object*))                        \
  X(Object*, PyEval_GetBuiltins, ())                                              \
  X(ThreadState*, PyEval_SaveThread, ())                                          \
  X(void, PyEval_RestoreThread, (ThreadState*))                                   \
  X(int, PyGILState_Ensure, ())                                                   \
  X(void, PyGILState_Release, (int))                                              \
  X(void, PyOS_BeforeFork, ())                                                    \
  X(void, PyOS_AfterFork_Parent, ())                                              \
  X(void, PyOS_AfterFork_Child, ())                                               \
  X(Object*, PyCapsule_New, (void*, const char*, void (*)(Object*)))              \
  X(void*, PyCapsule_GetPointer, (Object*, const char*))                          \
  X(int, PyCapsule_IsValid, (Object*, const char*))                               \
  X(Object*, PyMemoryView_FromMemory, (char*, std::ptrdiff_t, int))               \
  X(Object*, PyCFunction_NewEx, (MethodDef*, Object*, Object*))                   \
  X(void*, PyCFunction_GetFunction, (Object*))                                    \
  X(Object*, PyCFunction_GetSelf, (Object*))                                      \
  X(Object*, PyMethod_Function, (Object*))                                        \
  X(Object*, PyMethod_Self, (Object*))                                            \
  X(Object*, PyFunction_GetCode, (Object*))                                       \
  X(int, PyType_IsSubtype, (Object*, Object*))                                    \
  X(unsigned long, PyType_GetFlags, (Object*))                                    \
  X(const char*, Py_GetVersion, ())

// Objects of the interpreter itself.
#define ASSAY_PYTHON_OBJECTS(X) \
  X(_Py_NoneStruct)             \
  X(_Py_TrueStruct)             \
  X(_Py_FalseStruct)            \
  X(PyMethod_Type)              \
  X(PyFunction_Type)            \
  X(PyCFunction_Type)           \
  X(PyModule_Type)              \
  X(PyBytes_Type)               \
  X(PyUnicode_Type)

// Variables that point to exceptions.
#define ASSAY_PYTHON_EXCEPTIONS(X) \
  X(PyExc_MemoryError)             \
  X(PyExc_AttributeError)          \
  X(PyExc_ModuleNotFoundError)

struct Api {
#define ASSAY_MEMBER(result, name, parameters) result(*name) parameters = nullptr;
  ASSAY_PYTHON_FUNCTIONS(ASSAY_MEMBER)
#undef ASSAY_MEMBER
#define ASSAY_MEMBER(name) Object* name = nullptr;
  ASSAY_PYTHON_OBJECTS(ASSAY_MEMBER)
  ASSAY_PYTHON_EXCEPTIONS(ASSAY_MEMBER)
#undef ASSAY_MEMBER
};
extern Api py;
/// Fills in `py`. Returns the name of the first function that this interpreter lacks, or null.
const char* load_api();

/// Holds the interpreter's lock.
class Gil {
 public:
  Gil() : state_(py.PyGILState_Ensure()) {}
  ~Gil() { py.PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  int state_;
};

/// Owns one reference. Needs the lock wherever it is copied or destroyed.
class Ref {
 public:
  Ref() = default;
  /// Takes a new reference over.
  explicit Ref(Object* owned) : object_(owned) {}
  static Ref borrowed(Object* object) {
    if (object) py.Py_IncRef(object);
    return Ref(object);
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) py.Py_IncRef(object_);
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) py.Py_DecRef(object_);
  }
  Object* get() const { return object_; }
  Object* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  Object* object_ = nullptr;
};

/// Why something can not be done, in one line. `kind` is a word of fault_kind.hpp, or "lacks" if the machine
/// lacks something.
struct Failure {
  std::string text;
  std::string kind = "other";
  std::string raised = {};  // of an exception: its words, without "threw an exception: "
};

/// The exception that Python has just raised; it is no longer raised afterwards.
struct Raised {
  Ref type, value;
  /// Its name and the first line of its text: "ValueError: V must be a multiple of 4".
  std::string words() const;
  bool is(Object* exception) const;
  bool out_of_memory() const;
};
Raised take_raised();

/// `object` if it is not null; otherwise throws a Failure with the exception's words.
Ref need(Object* object);

Ref text_of(const std::string& utf8);
Ref path_of(const std::string& path);
/// Null, and an exception is raised, if the source can not be compiled.
Ref compiled(const Ref& source, const Ref& path);
/// UTF-8. Characters that can not be encoded are shown as '?'. Empty, and no exception, if it is no string.
std::string string_of(Object* text);
/// str(object), or empty.
std::string shown(Object* object);
Ref attribute(Object* object, const char* name);  // null, and no exception, if it has none
Ref call(Object* function, const std::initializer_list<Ref>& positional, const Ref& keywords = {});
Ref integer(long long value);
Ref none();
bool is_instance(Object* object, Object* type);  // by its real type: no __class__ and no __instancecheck__

/// True if it is a function that the shared object of this package has (a name in its path), called `name`,
/// and bound to nothing but a module: nothing that Python code can make.
bool is_native_function(Object* function, const char* name, const char* package);
/// True if it is a type that is no object of the heap, and that lies in the package's shared object.
bool is_native_type(Object* type, const char* package);

/// Runs the text in a namespace of its own, which has `given` beside the builtins that the interpreter
/// started with, and returns the string that the text leaves in `answer`. Nothing refers to the namespace
/// afterwards.
std::string run_text(const char* file, const Ref& given);
/// Keeps a copy of the builtins for run_text. Call it before any foreign code runs.
void keep_builtins();

}  // namespace assay::python
