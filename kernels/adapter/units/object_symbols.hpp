// SPDX-License-Identifier: Apache-2.0
// The names that an object file defines and needs, read from the file itself (ELF, 64 bits).
#pragma once

#include <filesystem>
#include <set>
#include <string>

namespace assay {

/// Names that other objects of the same link can see.
struct ObjectSymbols {
  std::set<std::string> strong;  // defined here: a second definition elsewhere is an error, or loses
  std::set<std::string> weak;    // defined here: the first of several objects wins
  std::set<std::string> needed;  // not defined here

  bool defines(const std::string& name) const { return strong.contains(name) || weak.contains(name); }
};

/// Throws InputError if the file is no object file.
ObjectSymbols object_symbols(const std::filesystem::path& object);

/// The first name with which `author` would take the place of something that `ours` calls or defines, or that
/// begins with "assay_". Empty if there is none. `allowed`: names that it is to define. It is not the linker
/// that says so, because a weak name would be replaced without a word.
std::string intruding_name(const ObjectSymbols& author, const ObjectSymbols& ours,
                           const std::set<std::string>& allowed);

/// The name as C++ writes it, in quotes: "'assay_adapter::registered()'".
std::string quote_symbol(const std::string& name);

}  // namespace assay
