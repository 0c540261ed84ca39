// SPDX-License-Identifier: Apache-2.0
// Zip files as NumPy writes them: stored or deflated members, zip64 records. Every offset and size is checked
// against the file, and the CRC-32 of the data that is read against the directory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "reference/files/byte_source.hpp"

namespace assay {

struct ZipMember {
  std::string name;
  std::uint64_t header = 0;  // offset of its local header
  std::uint64_t compressed = 0, size = 0;
  std::uint32_t crc = 0;
  std::uint16_t method = 0, flags = 0;
};

class ZipFile {
 public:
  /// Reads the directory. Throws InputError.
  explicit ZipFile(FileBytes file);

  const std::string& place() const { return file_.place(); }
  const std::vector<ZipMember>& members() const { return members_; }
  FileBytes& file() { return file_; }
  /// Offset of the directory. Members end before it.
  std::uint64_t directory() const { return directory_; }

 private:
  void read_directory(const std::vector<std::byte>& bytes, std::uint64_t entries);

  FileBytes file_;
  std::uint64_t directory_ = 0;
  std::vector<ZipMember> members_;
};

/// The bytes of one member, decompressed if they are deflated.
class ZipMemberBytes final : public ByteSource {
 public:
  /// Throws InputError if the member is encrypted, damaged or uses another method. The zip must outlive this.
  ZipMemberBytes(ZipFile& zip, const ZipMember& member, const std::string& place);
  ~ZipMemberBytes() override;

  /// Call after all bytes are read. Throws InputError if the size or the CRC-32 is not the one in the
  /// directory.
  void finish();

 private:
  void get(std::byte* to, std::size_t n) override;

  struct Inflater;
  FileBytes& file_;
  std::uint32_t wanted_crc_, crc_ = 0;
  std::unique_ptr<Inflater> inflater_;  // null: the member is stored
};

}  // namespace assay
