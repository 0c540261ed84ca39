// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

#include "kernels/python/worker/target.hpp"

namespace assay::python {
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
