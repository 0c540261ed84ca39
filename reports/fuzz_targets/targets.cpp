// SPDX-License-Identifier: Apache-2.0
// The targets of what reports reads, as in fuzz/targets/targets.cpp.
#include "fuzz/targets/target.hpp"

#ifdef TARGET_about
#include "reports/records/about.hpp"

/// about.json, with the contracts and the functions that it may hold: what is read, written and read again is
/// unchanged.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  const std::string text = render_about(about_from_text(text_of_bytes(data, size), "file"));
  require(render_about(about_from_text(text, "file")) == text, "another about.json");
}
#endif

#ifdef TARGET_certificate
#include "reports/adopt/certificate.hpp"

/// certificate.json: what is read, written and read again is unchanged, and its hash is that of its members.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  const std::string given = text_of_bytes(data, size);
  const Certificate c = certificate_from_text(given, "file");
  (void)changed_since(given);  // of what is accepted these throw nothing
  const std::string text = render_certificate(c);
  require(changed_since(text).empty(), "a hash of other contents");
  require(render_certificate(certificate_from_text(text, "file")) == text, "another certificate");
}
#endif

#ifdef TARGET_manifest
#include "reports/runs/manifest.hpp"

/// manifest.json of assay inputs: what is read, written and read again is unchanged, and it names no file
/// outside of its folder.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  const Manifest m = manifest_from_text(text_of_bytes(data, size), "file");
  for (const Graded& g : outputs_of(m, "folder"))
    for (const std::string& file : {g.logits, g.values, g.indices})
      require(file.empty() || std::filesystem::path(file).parent_path() == "folder",
              "a file outside of the folder");
  const std::string text = render_manifest(m, "folder");
  require(render_manifest(manifest_from_text(text, "file"), "folder") == text, "another manifest");
}
#endif

#ifdef TARGET_shard_file
#include "reports/out/shard_folder.hpp"

/// shard.json, by which a part of a run says that it is finished: what is read, written and read again is
/// unchanged.
void assay::fuzz::read(const std::uint8_t* data, std::size_t size) {
  const ShardEnd end = shard_from_text(text_of_bytes(data, size), "file");
  require(end.shard >= 0 && end.shard < end.count, "a part that does not exist");
  const std::string text = shard_text(end);
  require(shard_text(shard_from_text(text, "file")) == text, "another part");
}
#endif
