// SPDX-License-Identifier: Apache-2.0
// For the tests: array files built byte by byte, valid ones and ones with any part replaced.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/test_folder.hpp"

namespace assay::test_files {

/// The low n bytes of a number, little-endian.
inline std::string number(std::uint64_t x, int n) {
  std::string s;
  for (int i = 0; i < n; ++i) s += static_cast<char>(x >> (8 * i) & 0xff);
  return s;
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

inline std::string npy(const std::string& descr, const std::string& shape, const std::string& data,
                       const char* fortran = "False") {
  const std::string dict =
      "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
  return "\x93NUMPY" + number(1, 2) + number(dict.size(), 2) + dict + data;
}

inline std::string deflated(const std::string& data) {
  std::string out(compressBound(data.size()) + 64, '\0');
  z_stream z = {};
  if (deflateInit2(&z, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("zlib");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("zlib");
  // Not resize: GCC 13 warns of a size that wraps, which avail_out can not make.
  out.erase(z.total_out);
  deflateEnd(&z);
  return out;
}

struct Member {
  std::string name, data;  // data: before compression
  int method = 0;          // 8: deflate
  int flags = 0;
  std::uint64_t size = ~std::uint64_t{0};  // the size that the directory states, when it must be wrong
};

/// A zip as numpy.savez writes it. With zip64, every size is in the zip64 records.
inline std::string zip(const std::vector<Member>& members, bool zip64 = false) {
  std::string body, directory;
  for (const Member& m : members) {
    const std::string stored = m.method == 8 ? deflated(m.data) : m.data;
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(m.data.data()), static_cast<uInt>(m.data.size()));
    const std::uint64_t size = m.size == ~std::uint64_t{0} ? m.data.size() : m.size;
    const auto flags = static_cast<std::uint64_t>(m.flags), method = static_cast<std::uint64_t>(m.method);
    const std::string head =
        number(45, 2) + number(flags, 2) + number(method, 2) + number(0, 4) + number(crc, 4);
    const std::string wide = zip64 ? number(1, 2) + number(24, 2) + number(size, 8) +
                                         number(stored.size(), 8) + number(body.size(), 8)
                                   : "";
    const auto narrow = [&](std::uint64_t x) { return number(zip64 ? 0xffffffff : x, 4); };
    directory += "PK\1\2" + number(45, 2) + head + narrow(stored.size()) + narrow(size) +
                 number(m.name.size(), 2) + number(wide.size(), 2) + number(0, 2) + number(0, 2) +
                 number(0, 2) + number(0, 4) + narrow(body.size()) + m.name + wide;
    // NumPy puts the sizes of a local header into its extra field.
    const std::string extra = number(1, 2) + number(16, 2) + number(size, 8) + number(stored.size(), 8);
    body += "PK\3\4" + head + number(0xffffffff, 4) + number(0xffffffff, 4) + number(m.name.size(), 2) +
            number(extra.size(), 2) + m.name + extra + stored;
  }
  std::string end;
  if (zip64) {
    const std::uint64_t at = body.size() + directory.size();
    end = "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 4) + number(0, 4) +
          number(members.size(), 8) + number(members.size(), 8) + number(directory.size(), 8) +
          number(body.size(), 8) + "PK\6\7" + number(0, 4) + number(at, 8) + number(1, 4);
  }
  const std::uint64_t count = zip64 ? 0xffff : members.size();
  end += "PK\5\6" + number(0, 4) + number(count, 2) + number(count, 2) +
         number(zip64 ? 0xffffffff : directory.size(), 4) + number(zip64 ? 0xffffffff : body.size(), 4) +
         number(0, 2);
  return body + directory + end;
}

inline std::string safetensors(const std::string& header, const std::string& data) {
  return number(header.size(), 8) + header + data;
}

/// A folder of files with given contents.
class WrittenFiles : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string file = at(name);
    std::filesystem::remove(file);  // writing over a file takes milliseconds on ext4
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  TestFolder folder_;
};

}  // namespace assay::test_files
