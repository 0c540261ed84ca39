// SPDX-License-Identifier: Apache-2.0
// Finds the functions that a source file defines, so that an entry can be given by its name alone. Example:
// `--entry launch` for `void launch(const float* in, float* out, int rows, int V) {` in the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A function that the host can call. Kernels, device functions, class members and `main` are left out.
struct FoundFunction {
  std::string name;         // with its namespaces: ns::launch
  std::string declaration;  // as an entry: void ns::launch(const float* in, float* out, int rows, int V)
  int line = 1;
  bool internal = false;   // static, inline or in an unnamed namespace: other files can not call it
  bool c_linkage = false;  // extern "C"
  std::string returned;    // the type, if it is one word: void, int, cudaError_t
  bool special = false;    // template <> whose name has no arguments: the parameters' types give them
};

/// Lists the functions in the order of the file. Macros are not expanded: a function that a macro makes is
/// not found.
std::vector<FoundFunction> functions_in(std::string_view source);

/// If `entry` is a declaration or empty, returns it. If it is only a name, such as `ns::launch` or
/// `launch<float, 256>`, returns the declaration of that function in `source`. Its type parameters are
/// replaced by the arguments in <>. If it has one and no argument is given, T replaces it. Throws InputError,
/// which lists the functions, if no function or several functions have the name.
std::string find_entry(const std::string& entry, std::string_view source);

/// The same, from the functions that functions_in has listed.
std::string find_entry(const std::string& entry, const std::vector<FoundFunction>& functions);

/// "; its functions: 'launch', 'ns::other'": at most eight functions that take a pointer. Empty if there are
/// none.
std::string name_functions(const std::vector<FoundFunction>& functions);

}  // namespace assay
