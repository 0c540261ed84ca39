// The functions that a source file defines, so that an entry can be given by its name alone:
// `--entry launch` for `void launch(const float* in, float* out, int rows, int V) {` in the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// A function that the host can call. Kernels, device functions, members of a class and `main` are left out.
struct FoundFunction {
  std::string name;         // with its namespaces: ns::launch
  std::string declaration;  // as an entry: void ns::launch(const float* in, float* out, int rows, int V)
  int line = 1;
  bool special = false;  // template <> without arguments behind its name: they are those of the parameters
};

/// In the order of the file. Nothing is expanded: a function that a macro makes is not seen.
std::vector<FoundFunction> functions_in(std::string_view source);

/// `entry` where it is a declaration or empty. Where it is a name alone, such as `ns::launch` or
/// `launch<float, 256>`, the declaration of that function in `source`; its type parameters are replaced by
/// the arguments in <>, or by T where there is one and none is given. Throws InputError, with the functions
/// that there are: none has the name, or several have it.
std::string find_entry(const std::string& entry, std::string_view source);

/// "; its functions: 'launch', 'ns::other'": those that take a pointer, at most eight. Empty where none does.
std::string name_functions(std::string_view source);

}  // namespace assay
