// SPDX-License-Identifier: Apache-2.0
#include "kernels/python/python_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <string_view>

#include "kernels/adapter/entry/tokens.hpp"
#include "reference/error.hpp"
#include "reference/operand_table.hpp"
#include "reference/text.hpp"

namespace assay {
namespace {

struct PythonRole {
  std::string_view name;
  std::string types;  // of its elements, with a blank between two; empty: it has only one type
};

/// Kernel::given (worker/kernel.cpp) gives the parameter of each role its value.
std::vector<PythonRole> python_roles() {
  std::vector<PythonRole> all;
  for (const bool factors : {false, true})
    for (const OperandInfo& o : kOperandTable)
      if (((o.part & operand::any_scale) != 0) == factors)
        all.push_back(
            {o.name, (o.holds == OperandHolds::mask ? "bool " : "") + std::string(types_of(o.holds))});
  for (const char* other : {"in", "out", "indices", "k", "threshold", "rows", "V", "stream"})
    all.push_back({other, ""});
  return all;
}

[[noreturn]] void refuse(const std::string& argument, const std::string& why) {
  throw InputError("--arg " + in_quotes(argument) + ": " + why);
}

bool is_identifier(std::string_view s) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; };
  return !s.empty() && letter(s[0]) &&
         std::all_of(s.begin(), s.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

bool is_value(std::string_view s) {
  if (s == "None" || s == "True" || s == "False") return true;
  double number = 0;
  const auto read = std::from_chars(s.data(), s.data() + s.size(), number);
  return read.ec == std::errc() && read.ptr == s.data() + s.size();
}

void check_role(const std::string& argument, std::string_view role, std::string_view type, bool typed) {
  const std::vector<PythonRole> all = python_roles();
  const auto known = std::ranges::find(all, role, &PythonRole::name);
  if (known == all.end()) {
    std::string names;
    for (const PythonRole& r : all) names += (names.empty() ? "" : ", ") + std::string(r.name);
    refuse(argument, "neither a role (" + names + ") nor a value (a number, None, True, False)");
  }
  if (!typed) return;
  if (known->types.empty()) refuse(argument, std::string(role) + " has no types to choose from");
  std::string types;
  for (const char c : known->types) types += c == ' ' ? ", " : std::string(1, c);
  if (!is_word_of(known->types, type))
    refuse(argument, "of " + std::string(role) + " the types are " + types);
}

/// Checks one argument and returns its name.
std::string check(const std::string& argument) {
  const std::size_t equals = argument.find('=');
  if (equals == argument.npos || equals == 0 || equals + 1 == argument.size())
    refuse(argument, "NAME=ROLE or NAME=VALUE is needed, as in --arg mask=mask_keep or --arg dim=-1");
  const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
  if (!is_identifier(name)) refuse(argument, in_quotes(name) + " is no name of a parameter");
  if (is_value(value)) return name;
  const std::size_t colon = std::min(value.find(':'), value.size());
  check_role(argument, std::string_view(value).substr(0, colon),
             std::string_view(value).substr(std::min(colon + 1, value.size())), colon < value.size());
  return name;
}

}  // namespace

void check_python_arguments(const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const std::string& a : arguments) {
    names.push_back(check(a));
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      throw InputError("--arg " + in_quotes(names.back()) + " is given twice");
  }
}

}  // namespace assay
