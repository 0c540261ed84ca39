// SPDX-License-Identifier: Apache-2.0
// Records: what is read, written and read again is unchanged.
#include "accuracy/record.hpp"

#include <nlohmann/json.hpp>

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  // The caller parses the line and reports its errors itself.
  const nlohmann::json line = nlohmann::json::parse(data, data + size, nullptr, false);
  if (line.is_discarded()) return 0;
  try {
    const nlohmann::json once = to_json(record_from_json(line));
    fuzz::require(to_json(record_from_json(nlohmann::json::parse(once.dump()))) == once, "another record");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
