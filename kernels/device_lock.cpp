// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace assay {
namespace {

int lock(int file, int how) {
  int r;
  do r = flock(file, how);
  while (r != 0 && errno == EINTR);
  return r;
}

}  // namespace

DeviceLock::DeviceLock(const std::string& device, const std::function<void()>& waits,
                       const std::filesystem::path& folder) {
  const std::string path = (folder / ("assay-" + device + ".lock")).string();
  // In a shared folder another user's file can be opened but not created again. Workers must not inherit it.
  constexpr int kHow = O_RDONLY | O_CLOEXEC | O_NOFOLLOW;
  file_ = open(path.c_str(), kHow);
  if (file_ < 0 && errno == ENOENT) {
    file_ = open(path.c_str(), kHow | O_CREAT, 0444);
    // Overrides the umask, so that every user can open the file. It is empty.
    if (file_ >= 0) fchmod(file_, 0444);
  }
  if (file_ < 0) return;
  if (lock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return;
    waits();
    if (lock(file_, LOCK_EX) != 0) return;
  }
  held_ = true;
}

DeviceLock::~DeviceLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace assay
