// SPDX-License-Identifier: Apache-2.0
// about.json, with the contracts and the functions that it may hold: what is read, written and read again is
// unchanged.
#include "reports/records/about.hpp"

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    const std::string text = render_about(about_from_text(fuzz::text_of_bytes(data, size), "file"));
    fuzz::require(render_about(about_from_text(text, "file")) == text, "another about.json");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
