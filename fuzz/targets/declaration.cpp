// SPDX-License-Identifier: Apache-2.0
// A kernel's declaration: an accepted one is written in words that are accepted again and mean the same.
#include "kernels/declaration.hpp"

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  Variant v;
  v.claim = undeclared_claim();
  try {
    apply_declaration(fuzz::text_of_bytes(data, size), v);
  } catch (const InputError& e) {
    fuzz::require_words(e);
    return 0;
  }
  if (v.claim.height)
    for (std::int64_t V : {0, 1, 1000, 1 << 30}) v.claim.height(V);
  const std::string words = declaration_of(v);
  Variant again;
  again.claim = undeclared_claim();
  apply_declaration(words, again);  // throws if the words are not accepted
  fuzz::require(declaration_of(again) == words, "another declaration");
  return 0;
}
