// SPDX-License-Identifier: Apache-2.0
// The socket that clients of `assay serve` connect to.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "reference/error.hpp"

namespace assay {

/// Among servers that start in one folder, one at a time looks what is there and makes its socket. The lock
/// is one of the folder itself, so no file is left.
class FolderLock {
 public:
  explicit FolderLock(const std::string& socket) {
    const std::string folder = std::filesystem::path(socket).parent_path().string();
    file_ = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    error_ = file_ < 0 ? errno : EWOULDBLOCK;
    // A server has it for a moment. Another program may keep it.
    for (int tries = 0; file_ >= 0 && error_ == EWOULDBLOCK && tries < 500; ++tries) {
      if (tries > 0) usleep(10000);
      error_ = flock(file_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    }
  }
  ~FolderLock() {
    if (file_ >= 0) close(file_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  /// 0 if it is locked.
  int error() const { return error_; }

 private:
  int file_ = -1, error_ = 0;
};

/// A socket that listens. Its file ends with it.
class Listener {
 public:
  /// Throws InputError, or EnvironmentError if this machine has no socket to give.
  explicit Listener(const std::string& path) : path_(path) {
    at_.sun_family = AF_UNIX;
    if (path.size() >= sizeof at_.sun_path)
      throw InputError("--socket " + path + ": a socket's path has at most " +
                       std::to_string(sizeof at_.sun_path - 1) + " bytes");
    path.copy(at_.sun_path, path.size());
    file_ = new_socket();
    if (file_ < 0) throw EnvironmentError(std::string("no socket: ") + std::strerror(errno));
    const FolderLock lock(path);
    std::string wrong = bound();
    if (wrong == kInUse && (wrong = why_not_removed(lock)).empty()) wrong = bound();
    struct stat made {};
    if (wrong.empty() && (listen(file_, SOMAXCONN) != 0 || lstat(path.c_str(), &made) != 0)) {
      wrong = std::strerror(errno);
      unlink(path.c_str());
    }
    if (!wrong.empty()) {
      close(file_);
      throw InputError("--socket " + path + ": " + wrong);
    }
    device_ = made.st_dev, inode_ = made.st_ino;
  }
  ~Listener() {
    struct stat now {};  // perhaps another server's by now
    if (lstat(path_.c_str(), &now) == 0 && now.st_dev == device_ && now.st_ino == inode_)
      unlink(path_.c_str());
    close(file_);  // not before: as long as it listens nobody takes its path
  }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  int file() const { return file_; }

 private:
  static constexpr const char* kInUse = "there is a socket";

  static int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

  /// Empty, or what is wrong.
  std::string bound() const {
    const mode_t before = umask(0177);  // nobody else may ever connect
    const int error = bind(file_, reinterpret_cast<const sockaddr*>(&at_), sizeof at_) == 0 ? 0 : errno;
    umask(before);
    return error == 0 ? "" : error == EADDRINUSE ? kInUse : std::strerror(error);
  }

  /// Removes what a server has left that has ended. Otherwise says why it does not.
  std::string why_not_removed(const FolderLock& lock) const {
    struct stat there {};
    if (lstat(path_.c_str(), &there) != 0) return errno == ENOENT ? "" : std::strerror(errno);
    if (!S_ISSOCK(there.st_mode)) return "there is a file, and it is no socket";
    const int probe = new_socket();
    const int error =
        probe >= 0 && connect(probe, reinterpret_cast<const sockaddr*>(&at_), sizeof at_) == 0 ? 0 : errno;
    if (probe >= 0) close(probe);
    if (error == 0 || error == EAGAIN) return "a server listens there";
    if (error != ECONNREFUSED)
      return std::string("there is a socket, and whose cannot be told: ") + std::strerror(error);
    if (is_held(there)) return "there is a socket of a program that does not listen";
    if (lock.error() != 0)
      return std::string("there is a socket that nobody listens at, and its folder cannot be locked: ") +
             std::strerror(lock.error());
    if (unlink(path_.c_str()) != 0 && errno != ENOENT)
      return std::string("there is a socket that nobody listens at, and it cannot be removed: ") +
             std::strerror(errno);
    return "";
  }

  /// True if a program has a socket of this name. One that was bound to a relative path is seen only from the
  /// folder where that was done.
  static bool is_held(const struct stat& there) {
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);) {
      // Seven columns come before the name.
      std::size_t at = 0;
      for (int column = 0; column < 7 && at != line.npos; ++column) {
        at = line.find_first_not_of(' ', at);
        if (at != line.npos) at = line.find(' ', at);
      }
      if (at == line.npos || at + 1 >= line.size()) continue;
      struct stat named {};
      if (lstat(line.c_str() + at + 1, &named) == 0 && named.st_dev == there.st_dev &&
          named.st_ino == there.st_ino)
        return true;
    }
    return false;
  }

  std::string path_;
  sockaddr_un at_{};
  int file_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace assay
