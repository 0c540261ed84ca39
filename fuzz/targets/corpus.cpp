// SPDX-License-Identifier: Apache-2.0
// Corpora of a search: what is read, written and read again is unchanged.
#include "fuzz/search/corpus.hpp"

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    const fuzz::Corpus c = fuzz::corpus_from_text(fuzz::text_of_bytes(data, size), "file");
    fuzz::require(fuzz::corpus_from_text(c.text(), "file").text() == c.text(), "another corpus");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
