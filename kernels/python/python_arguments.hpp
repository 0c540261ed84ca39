// --arg of a Python callable: what a parameter is, or the value that it is given.
#pragma once

#include <string>
#include <vector>

namespace assay {

/// "mask=mask_keep", "mask=mask_keep:bool", "dim=-1": NAME=ROLE, NAME=ROLE:TYPE or NAME=VALUE, with None,
/// True, False and numbers as values. Throws InputError with one line for anything else, and for a name that
/// is given twice. Which parameters the callable has, its worker knows.
void check_python_arguments(const std::vector<std::string>& arguments);

}  // namespace assay
