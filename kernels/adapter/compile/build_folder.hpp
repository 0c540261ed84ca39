// The folder that files are compiled in: where it is, what is written there, and the names that contents
// give.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// Throws InputError where there is no such file, or it cannot be read.
std::string read_text(const std::filesystem::path& path);

/// Whole or not at all, also when two processes write it at once.
void write_text(const std::filesystem::path& path, std::string_view text);

/// 128 bits of the texts given to it, in hexadecimal: two FNV-1a of different bases.
class Fingerprint {
 public:
  Fingerprint& operator<<(std::string_view text) {
    for (const char c : text) {
      a_ = (a_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
      b_ = (b_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u + 0x9e3779b97f4a7c15u;
    }
    a_ = (a_ ^ 0x100) * 0x100000001b3u;  // where one text ends matters
    b_ = (b_ ^ 0x100) * 0x100000001b3u;
    return *this;
  }
  std::string text() const {
    std::string s;
    for (const std::uint64_t x : {a_, b_})
      for (int i = 60; i >= 0; i -= 4) s += "0123456789abcdef"[x >> i & 15];
    return s;
  }

 private:
  std::uint64_t a_ = 0xcbf29ce484222325u, b_ = 0x84222325cbf29ce4u;
};

/// The folder that was asked for; none was where it is empty. Throws InputError where it cannot be written.
std::filesystem::path build_folder(const std::string& asked);

/// The project's own files, as they are included: kernels/..., and the public ones as assay/... too.
std::filesystem::path write_headers(const std::filesystem::path& build);

}  // namespace assay
