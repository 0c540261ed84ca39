// SPDX-License-Identifier: Apache-2.0
// manifest.json of assay inputs: what is read, written and read again is unchanged, and it names no file
// outside of its folder.
#include "reports/runs/manifest.hpp"

#include "fuzz/targets/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  try {
    const Manifest m = manifest_from_text(fuzz::text_of_bytes(data, size), "file");
    for (const Graded& g : outputs_of(m, "folder"))
      for (const std::string& file : {g.logits, g.values, g.indices})
        fuzz::require(file.empty() || std::filesystem::path(file).parent_path() == "folder",
                      "a file outside of the folder");
    const std::string text = render_manifest(m, "folder");
    fuzz::require(render_manifest(manifest_from_text(text, "file"), "folder") == text, "another manifest");
  } catch (const InputError& e) {
    fuzz::require_words(e);
  }
  return 0;
}
