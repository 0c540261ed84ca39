// SPDX-License-Identifier: Apache-2.0
// certificate.json: what is read, written and read again is unchanged, and its hash is that of its members.
#include "reports/adopt/certificate.hpp"

#include "fuzz/targets/target.hpp"
#include "reports/adopt/consistent.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string given = fuzz::text_of_bytes(data, size);
  try {
    const Certificate c = certificate_from_text(given, "file");
    (void)changed_since(given);  // of what is accepted these throw nothing
    (void)contradictions(c);
    const std::string text = render_certificate(c);
    fuzz::require(changed_since(text).empty(), "a hash of other contents");
    fuzz::require(render_certificate(certificate_from_text(text, "file")) == text, "another certificate");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
