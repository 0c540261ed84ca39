// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/target.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "kernels/python/worker/framework.hpp"
#include "reference/error.hpp"

namespace assay::python {
namespace {

std::string base_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> all;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(at, from);
    all.push_back(text.substr(from, to - from));
    if (to == text.npos) return all;
    from = to + 1;
  }
}

bool in_modules(const std::string& name) {
  return py.PyDict_GetItemString(py.PyImport_GetModuleDict(), name.c_str()) != nullptr;
}

/// The file's own name, if no other module has it.
std::string module_name_of(const std::string& path) {
  std::string name = base_of(path);
  name = name.substr(0, name.rfind('.') == 0 ? name.npos : name.rfind('.'));
  Object* const standard = py.PySys_GetObject("stdlib_module_names");
  while (in_modules(name) || (standard && py.PySequence_Contains(standard, text_of(name).get()) == 1))
    name += "_";
  return name;
}

/// Python's tools that show a function's source, as Triton does, get the lines that were executed.
void keep_lines(const Ref& path, const Ref& source) {
  try {
    const Ref module = need(py.PyImport_ImportModule("linecache"));
    const Ref cache = attribute(module.get(), "cache");
    const Ref text = call(attribute(source.get(), "decode").get(), {text_of("utf-8"), text_of("replace")});
    const Ref lines = call(attribute(text.get(), "splitlines").get(), {Ref::borrowed(py._Py_TrueStruct)});
    const Ref entry = need(py.PyTuple_New(4));
    py.PyTuple_SetItem(entry.get(), 0, integer(0).release());
    py.PyTuple_SetItem(entry.get(), 1, none().release());  // no time: the file is not read again
    py.PyTuple_SetItem(entry.get(), 2, Ref(lines).release());
    py.PyTuple_SetItem(entry.get(), 3, Ref(path).release());
    if (py.PyObject_SetItem(cache.get(), path.get(), entry.get()) != 0) py.PyErr_Clear();
  } catch (const Failure&) {
    // Without it they read the file.
  }
}

[[noreturn]] void refuse_import(const Raised& raised, const std::string& who) {
  if (raised.is(py.PyExc_ModuleNotFoundError)) {
    const std::string name = string_of(attribute(raised.value.get(), "name").get());
    throw missing(name.empty() ? "a module" : name, who);
  }
  throw Failure{"can not be imported: " + raised.words()};
}

void import_file(const Words& words, const std::string& name, const std::string& who) {
  const std::string folder = words.place.substr(0, words.place.rfind('/'));
  py.PyList_Insert(py.PySys_GetObject("path"), 0, path_of(folder).get());
  // Do not write a cache beside the user's file.
  const Ref before = Ref::borrowed(py.PySys_GetObject("dont_write_bytecode"));
  py.PySys_SetObject("dont_write_bytecode", py._Py_TrueStruct);
  const Ref source = need(
      py.PyBytes_FromStringAndSize(words.source.data(), static_cast<std::ptrdiff_t>(words.source.size())));
  const Ref path = path_of(words.place);
  keep_lines(path, source);
  const Ref code = compiled(source, path);
  const Ref module(
      code ? py.PyImport_ExecCodeModuleObject(text_of(name).get(), code.get(), path.get(), nullptr)
           : nullptr);
  const Raised raised = module ? Raised{} : take_raised();
  py.PySys_SetObject("dont_write_bytecode", before.get());
  if (!module) refuse_import(raised, who);
}

void import_module(const std::string& name) {
  if (const Ref module(py.PyImport_ImportModule(name.c_str())); module) return;
  const Raised raised = take_raised();
  const std::string lacks = string_of(attribute(raised.value.get(), "name").get());
  constexpr std::array kKnown = {"triton", "cutlass", "torch", "cupy", "jax", "numba", "numpy"};
  const bool known = std::ranges::find(kKnown, name.substr(0, name.find('.'))) != kKnown.end();
  if (raised.is(py.PyExc_ModuleNotFoundError) && !lacks.empty() && !known &&
      (name == lacks || name.starts_with(lacks + "."))) {
    char here[4096] = "";
    throw Failure{shown(py.PySys_GetObject("executable")) + " finds no module " + lacks + " from " +
                  (getcwd(here, sizeof here) ? here : "here")};
  }
  refuse_import(raised, name);
}

/// ": it has lse, softmax": the module's own callables.
std::string own_callables(Object* module) {
  const std::string own = shown(attribute(module, "__name__").get());
  std::vector<std::string> names;
  const Ref space = attribute(module, "__dict__");
  std::ptrdiff_t at = 0;
  Object *key = nullptr, *value = nullptr;
  // A copy: looking at a value may run code that changes the original.
  const Ref kept(space ? py.PyDict_Copy(space.get()) : nullptr);
  py.PyErr_Clear();
  while (kept && py.PyDict_Next(kept.get(), &at, &key, &value) != 0) {
    const std::string name = string_of(key);
    if (!name.empty() && name[0] != '_' && py.PyCallable_Check(value) != 0 &&
        shown(attribute(value, "__module__").get()) == own)
      names.push_back(name);
  }
  std::ranges::sort(names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? ": it has " : ", ") + name;
  return all;
}

/// The function behind a method or the object itself.
Object* plain_function(Object* object) {
  return is_instance(object, py.PyMethod_Type) ? py.PyMethod_Function(object) : object;
}

Ref code_of(Object* object) {
  Object* const function = plain_function(object);
  return is_instance(function, py.PyFunction_Type) ? Ref::borrowed(py.PyFunction_GetCode(function)) : Ref();
}

/// A method is made anew at every look: then its function and its object count.
bool same_object(Object* a, Object* b) {
  if (a == b) return true;
  const auto both = [&](Object* type) { return is_instance(a, type) && is_instance(b, type); };
  if (both(py.PyMethod_Type))
    return py.PyMethod_Function(a) == py.PyMethod_Function(b) && py.PyMethod_Self(a) == py.PyMethod_Self(b);
  return both(py.PyCFunction_Type) && py.PyCFunction_GetFunction(a) == py.PyCFunction_GetFunction(b) &&
         py.PyCFunction_GetSelf(a) == py.PyCFunction_GetSelf(b);
}

}  // namespace

Target::Target(const Words& words)
    : module_name_(words.is_file ? module_name_of(words.place) : words.place),
      shown_(words.function),
      parts_(split(words.function, '.')) {
  const std::string who = words.is_file ? base_of(words.place) : words.place;
  if (words.is_file)
    import_file(words, module_name_, who);
  else
    import_module(module_name_);
  // As an importer gets it: a module may have put another object into its place.
  module_ = Ref::borrowed(py.PyDict_GetItemString(py.PyImport_GetModuleDict(), module_name_.c_str()));
  if (!module_) throw Failure{"can not be imported: its import took it out of sys.modules"};
  function_ = find();
  if (!function_) {
    const Raised raised = take_raised();
    if (!raised.is(py.PyExc_AttributeError)) throw Failure{raised.words()};
    throw Failure{who + " has no " + words.function + own_callables(module_.get())};
  }
  if (py.PyCallable_Check(function_.get()) == 0)
    throw Failure{who + ": " + words.function + " is not callable"};
  code_ = code_of(function_.get());
}

/// Null, and an exception is raised, if there is none.
Ref Target::find() const {
  Ref found = module_;
  for (const std::string& part : parts_) {
    if (!found) break;
    found = Ref(py.PyObject_GetAttrString(found.get(), part.c_str()));
  }
  return found;
}

std::string Target::changed() const {
  const auto other = [&](const char* what) { return shown_ + " " + what + " than the one that was named"; };
  if (py.PyDict_GetItemString(py.PyImport_GetModuleDict(), module_name_.c_str()) != module_.get())
    return module_name_ + " is another module than the one that was named";
  const Ref now = find();
  py.PyErr_Clear();
  if (!now || !same_object(now.get(), function_.get())) return other("is another object");
  if (code_of(function_.get()).get() != code_.get()) return other("has other code");
  return {};
}

namespace {

/// The value of --arg NAME=VALUE. python_kernel.cpp has checked its spelling.
Ref constant(const std::string& value) {
  if (value == "None") return none();
  if (value == "True") return Ref::borrowed(py._Py_TrueStruct);
  if (value == "False") return Ref::borrowed(py._Py_FalseStruct);
  const bool whole = std::all_of(value.begin() + (value[0] == '-' ? 1 : 0), value.end(),
                                 [](unsigned char c) { return std::isdigit(c) != 0; });
  if (whole && value.size() < 19) return integer(std::strtoll(value.c_str(), nullptr, 10));
  return need(py.PyFloat_FromDouble(std::strtod(value.c_str(), nullptr)));
}

/// "parameter KIND INITIAL NAME", without the first word.
CallableParameter parameter_of(const std::string& words) {
  std::istringstream parts(words);
  std::string kind, initial;
  CallableParameter p;
  parts >> kind >> initial >> p.name;
  p.kind = kind == "place" ? p.place : kind == "place_alone" ? p.place_alone : p.keyword;
  p.initial = initial == "none"      ? p.none
              : initial == "chooses" ? p.chooses
              : initial == "value"   ? p.value
                                     : p.required;
  return p;
}

}  // namespace

std::string read_signature(const Target& target) {
  const Ref given = need(py.PyDict_New());
  const auto set = [&](const char* name, const Ref& value) {
    py.PyDict_SetItemString(given.get(), name, value.get());
  };
  set("function", Ref::borrowed(target.function()));
  set("module", Ref::borrowed(target.module()));
  return run_text("reader.py", given);
}

Description describe(const std::string& answer, const Words& words) {
  std::istringstream lines(answer);
  Description d;
  Callable callable{false, false};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, space), rest = line.substr(std::min(space + 1, line.size()));
    if (word == "refused") throw Failure{rest};
    if (word == "tensors") d.tensors = rest;
    if (word == "device") d.device = rest;
    if (word == "more") callable.more = true;
    if (word == "keywords") callable.keywords = true;
    if (word == "parameter") callable.parameters.push_back(parameter_of(rest));
  }
  if (d.tensors.empty()) throw Failure{"its signature could not be read: the process that did so ended"};
  try {
    d.op = parse_op(words.op).value_or(Op::softmax);
    d.arguments = callable_arguments(callable, d.op, words.arguments);
  } catch (const InputError& e) {
    throw Failure{e.what()};
  }
  for (const CallableArgument& a : d.arguments) {
    d.writes |= a.role == "out";
    d.constants.push_back(a.role == "literal" ? constant(a.literal) : Ref());
  }
  return d;
}

}  // namespace assay::python
