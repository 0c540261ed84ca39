// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/worker/target.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "kernels/python/worker/framework.hpp"

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

/// The constant of NAME=VALUE, or null if the value is a role. python_arguments.cpp has checked its spelling.
Ref constant(const std::string& value) {
  if (value == "None") return none();
  if (value == "True") return Ref::borrowed(py._Py_TrueStruct);
  if (value == "False") return Ref::borrowed(py._Py_FalseStruct);
  if (value == "inf" || value == "nan" || std::isalpha(static_cast<unsigned char>(value[0])) == 0) {
    const bool whole = std::all_of(value.begin() + (value[0] == '-' ? 1 : 0), value.end(),
                                   [](unsigned char c) { return std::isdigit(c) != 0; });
    if (whole && value.size() < 19) return integer(std::strtoll(value.c_str(), nullptr, 10));
    return need(py.PyFloat_FromDouble(std::strtod(value.c_str(), nullptr)));
  }
  return {};
}

struct Said {
  std::string name, role, type;
  Ref constant;
};

Said said_by(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  Said s;
  s.name = argument.substr(0, equals);
  const std::string value = argument.substr(equals + 1);
  s.constant = constant(value);
  s.role = s.constant ? "literal" : value.substr(0, value.find(':'));
  if (const std::size_t colon = value.find(':'); !s.constant && colon != value.npos)
    s.type = value.substr(colon + 1);
  return s;
}

/// What the command line says holds, whatever the module made of the code that reads signatures.
void apply_arguments(const Words& words, std::vector<Argument>& arguments) {
  std::size_t literals = 0;
  for (const std::string& text : words.arguments) {
    const Said said = said_by(text);
    const auto found =
        std::ranges::find_if(arguments, [&](const Argument& a) { return a.name == said.name; });
    if (found == arguments.end() || found->role != said.role || found->type != said.type)
      throw Failure{"--arg " + text + ": the module's code gave the parameter another role"};
    found->constant = said.constant;
    literals += said.constant ? 1 : 0;
  }
  const auto given = std::ranges::count_if(arguments, [](const Argument& a) { return a.role == "literal"; });
  if (static_cast<std::size_t>(given) != literals)
    throw Failure{"the module's code gave a parameter a constant that no --arg gives it"};
}

}  // namespace

std::string read_signature(const Target& target, const Words& words) {
  const Ref given = need(py.PyDict_New());
  const auto set = [&](const char* name, const Ref& value) {
    py.PyDict_SetItemString(given.get(), name, value.get());
  };
  set("function", Ref::borrowed(target.function()));
  set("module", Ref::borrowed(target.module()));
  set("op", text_of(words.op));
  set("names", text_of(words.roles));
  set("pairs", text_of(words.pairs));
  const Ref all = need(py.PyTuple_New(static_cast<std::ptrdiff_t>(words.arguments.size())));
  for (std::size_t i = 0; i < words.arguments.size(); ++i)
    py.PyTuple_SetItem(all.get(), static_cast<std::ptrdiff_t>(i), text_of(words.arguments[i]).release());
  set("arguments", all);
  return run_text("reader.py", given);
}

Description describe(const std::string& answer, const Words& words) {
  std::istringstream lines(answer);
  Description d;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string word = line.substr(0, space), rest = line.substr(std::min(space + 1, line.size()));
    std::istringstream parts(rest);
    if (word == "refused") throw Failure{rest};
    if (word == "tensors") d.tensors = rest;
    if (word == "device") d.device = rest;
    if (word == "read_as") d.read_as = rest;
    if (word == "writes") d.writes = rest == "1";
    if (word == "uses") d.uses.push_back(rest);
    if (word == "operands") {
      std::string type;
      parts >> type;
      d.operands.emplace_back(type, rest.substr(std::min(type.size() + 1, rest.size())));
    }
    if (word == "argument") {
      Argument a;
      std::string how;
      parts >> how >> a.role >> a.type >> a.name;
      a.by_place = how == "place";
      if (a.type == "-") a.type.clear();
      if (a.name == "-") a.name.clear();
      d.arguments.push_back(a);
    }
  }
  if (d.tensors.empty()) throw Failure{"its signature could not be read: the process that did so ended"};
  apply_arguments(words, d.arguments);
  return d;
}

}  // namespace assay::python
