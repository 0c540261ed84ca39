// The translation unit that makes a plugin of somebody's file: it includes the file as it is and exports
// assay_plugin_entry (kernels/plugin.h) with one variant for each entry.
#pragma once

#include <string>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

struct AdapterFile {
  std::string source;       // what is included: an absolute path
  std::string name;         // of the variants
  std::string declaration;  // the author's words
  bool host = false;        // for the host executor; else for nvcc
};

/// The text, with a line per entry. No entries: the file has ASSAY_VARIANT lines of its own.
std::string adapter_source(const AdapterFile& file, const std::vector<EntrySignature>& entries);

/// A variant's name from a function's: letters, digits, '_' and '-'.
std::string variant_name(const std::string& function);

/// `s` as a C string literal.
std::string c_string(const std::string& s);

}  // namespace assay
