// SPDX-License-Identifier: Apache-2.0
// shard.json, by which a part of a run says that it is finished: what is read, written and read again is
// unchanged.
#include "fuzz/targets/target.hpp"
#include "reports/out/shard_folder.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    const ShardEnd end = shard_from_text(fuzz::text_of_bytes(data, size), "file");
    fuzz::require(end.shard >= 0 && end.shard < end.count, "a part that does not exist");
    const std::string text = shard_text(end);
    fuzz::require(shard_text(shard_from_text(text, "file")) == text, "another part");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
