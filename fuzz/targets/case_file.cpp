// SPDX-License-Identifier: Apache-2.0
// Case files: what is read, written and read again is unchanged.
#include "fuzz/case_file.hpp"

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    const fuzz::CaseFile c = fuzz::case_from_text(fuzz::text_of_bytes(data, size), "file");
    const std::string text = fuzz::text_of(c);
    const fuzz::CaseFile again = fuzz::case_from_text(text, "file");
    fuzz::require(again.trial.logits.bytes == c.trial.logits.bytes, "other logits");
    fuzz::require(fuzz::text_of(again) == text, "another case");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
