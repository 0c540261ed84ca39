// SPDX-License-Identifier: Apache-2.0
// For tests of Python callables: which interpreter runs them, and whether it exists.
#pragma once

#include <cstdlib>
#include <string>

#include "kernels/python/python_kernel.hpp"

namespace assay {

/// $ASSAY_TEST_PYTHON, or python3.
inline std::string test_python() {
  const char* const named = std::getenv("ASSAY_TEST_PYTHON");
  return named && *named ? named : "python3";
}

inline bool python_imports(const std::string& modules) {
  return std::system((test_python() + " -c 'import " + modules + "' >/dev/null 2>&1").c_str()) == 0;
}

/// Skips the test if Python or one of the modules is missing.
#define ASSAY_NEEDS_PYTHON(modules)                                                             \
  if (!python_imports(modules))                                                                 \
  GTEST_SKIP() << test_python() << " with " << (modules) << " is not here (ASSAY_TEST_PYTHON: " \
               << "another interpreter)"

inline std::string python_fixture(const std::string& file) {
  return std::string(ASSAY_SOURCE_DIR) + "/kernels/python/fixtures/" + file;
}

inline PythonCallable callable(const std::string& file, const std::string& function) {
  PythonCallable c;
  c.shown = file + ":" + function;
  c.is_file = true;
  c.place = python_fixture(file);
  c.function = c.name = function;
  c.interpreter = test_python();
  return c;
}

}  // namespace assay
