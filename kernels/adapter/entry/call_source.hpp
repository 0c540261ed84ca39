// SPDX-License-Identifier: Apache-2.0
// The calls of the author's functions as C++ that needs no header of this project. The same text stands
// behind prototypes, in a unit that does not know the author's file, or behind the author's file itself.
// Nothing that stands in front of it can change what it says: its names are nobody else's, and no macro
// reaches it.
#pragma once

#include <string>
#include <vector>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// Defines, for each entry i,
///
///   extern "C" long long assay_call_i(void* const* p, const long long* n, const float* r, int* misfit)
///
/// which calls the entry with p, n or r of each parameter's place, and returns its status, or whether it
/// succeeded if it returns a bool. If n does not fit a parameter's type, nothing is called and `misfit` gets
/// its place. `suffix` ends every name that the text declares: behind a file it is one that the file cannot
/// know.
std::string call_source(const std::vector<EntrySignature>& entries, const std::string& suffix);

/// How the error begins that the text gives for a type that is a macro of the file's.
inline constexpr const char* kMacroInEntry =
    "assay: --entry names a macro of the file, and takes what it stands for: ";

/// The declarations of those functions, for the adapter.
std::string call_declarations(std::size_t entries);

/// Declares the entries for a unit that does not know the author's file. `host`: with the types of the host
/// executor, otherwise with CUDA's.
std::string prototypes(const std::vector<EntrySignature>& entries, bool host);

/// Why no prototype can be written for the entry: "a template's instance". Empty if one can.
std::string no_prototype(const EntrySignature& s);

/// The parameter's place in p, n or r, or none: a literal stands in the call.
enum class Slot { pointer, number, real, literal };
Slot slot_of(const Parameter& p);

}  // namespace assay
