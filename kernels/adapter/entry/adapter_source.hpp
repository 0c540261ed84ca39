// SPDX-License-Identifier: Apache-2.0
// The translation unit that makes a plugin of a user's file. It exports assay_plugin_entry
// (kernels/plugin.h), with one variant for each entry. It does not know the file: the author's functions are
// called as call_source.hpp says.
#pragma once

#include <string>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

struct AdapterFile {
  std::string name;         // name of the variants
  std::string declaration;  // the author's words
  bool host = false;        // true: for the host executor; false: for nvcc
};

/// The text of the unit. If `entries` is empty, the file registers itself, and only what the host executor
/// exports is left.
std::string adapter_source(const AdapterFile& file, const std::vector<EntrySignature>& entries);

/// One unit for a project's own nvcc: the adapter, the file, which it includes by its absolute path, and the
/// calls.
std::string whole_adapter(const AdapterFile& file, const std::vector<EntrySignature>& entries,
                          const std::string& source);

/// Makes a variant's name from a function's. It has only letters, digits, '_' and '-'.
std::string variant_name(const std::string& function);

}  // namespace assay
