// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/data/sweep_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "reference/error.hpp"
#include "reference/paths.hpp"
#include "reports/data/files.hpp"

namespace assay {

SweepFile::SweepFile(std::filesystem::path file) : file_(std::move(file)) {
  if (!std::filesystem::exists(file_)) {
    // A new file beside the packed one would lack what was measured before.
    if (const std::string packed = file_.string() + ".gz"; std::filesystem::exists(packed))
      throw InputError(packed + ": is packed: run gunzip on it first, or choose another folder");
    return;
  }
  bool torn = false;
  for (SweepRecord& r : read_sweep(file_, &torn)) keep(std::move(r));
  if (torn) compact();
}

const SweepRecord* SweepFile::find(const std::string& identity) const {
  const auto at = at_.find(identity);
  return at == at_.end() ? nullptr : &records_[at->second];
}

void SweepFile::keep(SweepRecord r) {
  const auto [at, fresh] = at_.emplace(identity(r), records_.size());
  if (fresh)
    records_.push_back(std::move(r));
  else
    records_[at->second] = std::move(r);
}

void SweepFile::add(const SweepRecord& r) {
  const std::string line = sweep_line(r);
  const int file = open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  bool written = file >= 0;
  for (std::size_t done = 0; written && done < line.size();) {
    const ssize_t n = write(file, line.data() + done, line.size() - done);
    written = n > 0;
    done += written ? static_cast<std::size_t>(n) : 0;
  }
  const int error = errno;
  if (file >= 0) close(file);
  if (!written) throw_unwritten(file_, error);
  keep(r);
}

void SweepFile::compact() const {
  std::string text;
  for (const SweepRecord& r : records_) text += sweep_line(r);
  write_files({{file_, text}});
}

}  // namespace assay
