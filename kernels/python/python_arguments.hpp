// SPDX-License-Identifier: Apache-2.0
// --arg for a Python callable: what a parameter is, or the value that it gets.
#pragma once

#include <string>
#include <vector>

namespace assay {

/// Checks arguments of the forms NAME=ROLE, NAME=ROLE:TYPE and NAME=VALUE, where a value is None, True, False
/// or a number. Examples: "mask=mask_keep", "mask=mask_keep:bool", "dim=-1". Throws InputError with one line
/// for any other form, and for a name that is given twice. Only the worker knows which parameters the
/// callable has.
void check_python_arguments(const std::vector<std::string>& arguments);

}  // namespace assay
