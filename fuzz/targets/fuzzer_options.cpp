// SPDX-License-Identifier: Apache-2.0
// What a libFuzzer program calls.
#include "fuzz/targets/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::fuzz::run(data, size);
  return 0;
}

// What ASan does in a libFuzzer program, unless the variable ASAN_OPTIONS says something else. ASan keeps
// freed memory for a while to notice a late access, 256 MiB of it by default. A parser frees far less than 8
// MiB in one execution, and memory that is used again soon stays in the cache. An error names the two
// innermost callers of an allocation; to see them all, run the program with the input that failed and
// ASAN_OPTIONS=malloc_context_size=30.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "quarantine_size_mb=8:malloc_context_size=2"; }
