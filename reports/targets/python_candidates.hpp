// A Python callable as a candidate: the words of a command line that name it, and the words that repeat it.
#pragma once

#include <string>

#include "kernels/python/python_kernel.hpp"
#include "reports/targets/source_candidates.hpp"

namespace assay {

/// True for FILE.py:FUNCTION, FILE.py::FUNCTION and PACKAGE.MODULE:FUNCTION; and for FILE.py, which lacks
/// one.
bool is_python_callable(const std::string& word);

/// The callable with what --arg, --op, --types, --name, --host and --python say. Throws InputError for a word
/// that is wrong, and for options of a source file that is compiled.
PythonCallable python_callable(const std::string& word, const SourceOptions& options);

/// The words after a verb that name this callable again, at one pair of types, as a shell takes them.
std::string python_words(const std::string& word, const SourceOptions& options, const Variant& variant);

}  // namespace assay
