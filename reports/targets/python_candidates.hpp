// SPDX-License-Identifier: Apache-2.0
// A Python callable as a candidate: the command-line words that name it, and those that repeat it.
#pragma once

#include <string>

#include "kernels/python/python_kernel.hpp"
#include "reports/targets/source_candidates.hpp"

namespace assay {

/// True for FILE.py:FUNCTION, FILE.py::FUNCTION and PACKAGE.MODULE:FUNCTION, and for FILE.py, where the
/// function is missing.
bool is_python_callable(const std::string& word);

/// The callable with the settings of --arg, --op, --types, --name, --host and --python. Throws InputError for
/// a wrong word, and for options that apply only to compiled source files.
PythonCallable python_callable(const std::string& word, const SourceOptions& options);

/// The words after a verb that name this callable again at one pair of types, quoted for a shell.
std::string python_words(const std::string& word, const SourceOptions& options, const Variant& variant);

}  // namespace assay
