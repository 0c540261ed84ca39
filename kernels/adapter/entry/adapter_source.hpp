// SPDX-License-Identifier: Apache-2.0
// The translation unit that makes a plugin of a user's file. It includes the file as it is and exports
// assay_plugin_entry (kernels/plugin.h), with one variant for each entry.
#pragma once

#include <string>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

struct AdapterFile {
  std::string source;       // absolute path of the file to include
  std::string name;         // name of the variants
  std::string declaration;  // the author's words
  bool host = false;        // true: for the host executor; false: for nvcc
};

/// The text of the unit. If `entries` is empty, the file has ASSAY_VARIANT lines of its own.
std::string adapter_source(const AdapterFile& file, const std::vector<EntrySignature>& entries);

/// Makes a variant's name from a function's. It has only letters, digits, '_' and '-'.
std::string variant_name(const std::string& function);

/// `s` as a C string literal.
std::string c_string(const std::string& s);

}  // namespace assay
