// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/opened_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"

namespace assay::isolation {
namespace {

/// A larger file is not copied: each sandbox has a copy of its own.
constexpr std::int64_t kMostCopied = std::int64_t{256} << 20;
constexpr std::size_t kPiece = std::size_t{1} << 20;

std::string identity_of(const struct stat& s) {
  return fmt::format("{} {} {} {}.{} {}.{}", s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec,
                     s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec);
}

bool write_all(int file, const char* from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t n = write(file, from, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n, bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

std::shared_ptr<const OpenedFile> OpenedFile::of(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const OpenedFile>> all;
  const std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<const OpenedFile>& known = all[path];
  if (auto in_use = known.lock()) return in_use;
  auto opened = std::make_shared<const OpenedFile>(path);
  known = opened;
  return opened;
}

OpenedFile::OpenedFile(const std::string& path) : path_(path) {
  std::error_code ignored;
  if (const auto real = std::filesystem::canonical(path, ignored); !ignored) path_ = real.string();
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat now {};
  if (file < 0 || fstat(file, &now) != 0) {
    const int error = errno;
    if (file >= 0) close(file);
    throw InputError(path + ": can not be read: " + std::strerror(error));
  }
  identity_ = identity_of(now);
  if (now.st_size <= kMostCopied) copy_ = memfd_create("shm", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  Sha256 hash;
  std::vector<char> piece(kPiece);
  for (;;) {
    const ssize_t n = read(file, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    hash.add({piece.data(), static_cast<std::size_t>(n)});
    if (copy_ >= 0 && !write_all(copy_, piece.data(), static_cast<std::size_t>(n))) {
      close(copy_);
      copy_ = -1;
    }
  }
  close(file);
  sha256_ = hash.hex();
  if (copy_ >= 0 &&
      fcntl(copy_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    close(copy_);
    copy_ = -1;
  }
}

OpenedFile::~OpenedFile() {
  if (copy_ >= 0) close(copy_);
}

int OpenedFile::open_copy() const {
  return copy_ < 0 ? -1 : open(fmt::format("/proc/self/fd/{}", copy_).c_str(), O_RDONLY | O_CLOEXEC);
}

bool OpenedFile::changed() const {
  struct stat now {};
  return stat(path_.c_str(), &now) != 0 || identity_of(now) != identity_;
}

}  // namespace assay::isolation
