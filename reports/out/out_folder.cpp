// SPDX-License-Identifier: Apache-2.0
#include "reports/out/out_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "kernels/isolation/process/sandboxed.hpp"
#include "reference/error.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

/// True if the path still names the open file.
bool is_at(int file, const std::filesystem::path& path) {
  struct stat open {
  }, named{};
  return fstat(file, &open) == 0 && stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

std::string holder(int file) {
  char text[256];
  const ssize_t n = pread(file, text, sizeof text, 0);
  return n > 0 ? " (" + std::string(text, static_cast<std::size_t>(n)) + ")" : "";
}

void sign(int file) {
  char host[128] = "";
  gethostname(host, sizeof host - 1);
  const std::string text = "process " + std::to_string(getpid()) + " on " + host;
  // Only words for a message: whether they can be written does not matter.
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) < 0) return;
}

}  // namespace

FileLock::FileLock(std::filesystem::path path, const std::string& what) : path_(std::move(path)) {
  for (;;) {
    // What a link leads to would be written over.
    file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file_ < 0)
      throw InputError(path_.string() + ": cannot be made: " +
                       (errno == ELOOP ? "it is a symbolic link" : std::strerror(errno)));
    if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
      const bool held = errno == EWOULDBLOCK;
      const std::string who = held ? holder(file_) : "";
      // Some network file systems have no locks. There a run is not protected.
      if (!held) return;
      close(file_);
      file_ = -1;
      throw InputError(what + ": another run writes there" + who +
                       ": wait for its end, or choose another folder");
    }
    if (is_at(file_, path_)) break;  // else its holder removed it meanwhile
    close(file_);
  }
  sign(file_);
}

FileLock::~FileLock() {
  if (file_ < 0) return;
  if (is_at(file_, path_)) unlink(path_.c_str());
  close(file_);
}

OutFolder::OutFolder(std::filesystem::path folder) : path_(std::move(folder)) {
  prepare_folder(path_);
  // A folder that is called like one of our files: better now than after the run.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path_, error)) {
    const std::string end = entry.path().extension().string();
    const bool ours = end == ".json" || end == ".jsonl" || end == ".html" || end == ".md" || end == ".svg";
    if (ours && entry.is_directory(error))
      throw InputError(entry.path().string() + ": cannot be written: it is a folder");
  }
  isolation::sandbox_hides(path_.string());
  lock_.emplace(path_ / ".lock", "--out " + path_.string());
}

}  // namespace assay
