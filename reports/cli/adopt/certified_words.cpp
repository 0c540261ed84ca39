// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/certified_words.hpp"

#include <fmt/format.h>

#include <vector>

#include "kernels/adapter/toolchain/flags.hpp"
#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/text.hpp"
#include "reports/cli/adopt/judged_files.hpp"
#include "reports/targets/candidates.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

/// The certified file that the word names; null for a key.
const CertifiedFile* named_by(const Certificate& c) {
  for (const CertifiedFile& f : c.files)
    if (!f.path.empty() && !f.sha256.empty() && c.target.word.starts_with(f.path)) return &f;
  return nullptr;
}

}  // namespace

fs::path certificate_file(const std::string& word) {
  std::error_code none;
  return fs::is_directory(word, none) ? fs::path(word) / "certificate.json" : fs::path(word);
}

std::string word_now(const Certificate& c, const fs::path& certificate) {
  const CertifiedFile* const file = named_by(c);
  if (!file) return c.target.word;
  const fs::path recorded = file->path;
  const fs::path below = recorded.is_absolute() ? recorded.filename() : recorded;
  std::vector<fs::path> places = {recorded};
  const fs::path first = fs::absolute(certificate).lexically_normal().parent_path();
  for (fs::path folder = first;; folder = folder.parent_path()) {
    places.push_back(folder / below);
    if (folder == folder.parent_path()) break;
  }
  std::string found;
  for (const fs::path& place : places) {
    std::error_code none;
    if (!fs::is_regular_file(place, none)) continue;
    if (sha256_of_file(place) == file->sha256) {
      found = place.string();
      break;
    }
    if (found.empty()) found = place.string();
  }
  if (found.empty())
    throw InputError(fmt::format(
        "{}: no such file, neither here nor in {} or a folder above it; to name it: assay verify {} FILE",
        recorded.string(), first.string(), certificate.string()));
  return found + c.target.word.substr(file->path.size());
}

namespace {

namespace fs = std::filesystem;

/// The typed word, and a note if the certificate has another one.
void take_typed(std::string& word, const std::optional<std::string>& typed, const char* option,
                std::vector<std::string>& notes) {
  if (!typed) return;
  if (word != *typed)
    notes.push_back(fmt::format("{} is {}, and in the certificate {}", option, shell_quoted(*typed),
                                word.empty() ? "not given" : shell_quoted(word)));
  word = *typed;
}

}  // namespace

CertifiedTarget target_to_verify(const Certificate& c, const fs::path& file, const TypedWords& typed,
                                 std::vector<std::string>& notes) {
  CertifiedTarget t = c.target;
  const std::string again = fmt::format("assay verify {} ", shell_quoted(file.string()));
  t.word = typed.kernel.empty() ? word_now(c, file) : typed.kernel;
  if (typed.kernel.empty() && is_python_callable(t.word) && named_file(t.word).empty())
    throw InputError(
        fmt::format("{}: it names a module of Python, {}, of which no file can be compared: to import it "
                    "nevertheless: {}{}",
                    file.string(), t.word, again, shell_quoted(t.word)));
  if (!typed.python && !t.python.empty())
    throw InputError(fmt::format("{}: it names an interpreter, {}: to run it nevertheless: {}--python {}",
                                 file.string(), t.python, again, shell_quoted(t.python)));
  take_typed(t.python, typed.python, "--python", notes);
  if (!typed.nvcc_flags && !t.nvcc_flags.empty()) {
    const std::string refused = refused_flag(t.nvcc_flags, fs::current_path());
    if (!refused.empty())
      throw InputError(
          fmt::format("{}: its compiler flags: {}: to compile with them nevertheless: {}--nvcc-flags {}",
                      file.string(), refused, again, shell_quoted(t.nvcc_flags)));
  }
  take_typed(t.nvcc_flags, typed.nvcc_flags, "--nvcc-flags", notes);
  if (typed.timeout_seconds) t.timeout_seconds = *typed.timeout_seconds;
  if (!typed.timeout_seconds &&
      !(t.timeout_seconds >= 0.001 && t.timeout_seconds <= kLongestCertifiedTimeout))
    throw InputError(
        fmt::format("{}: its timeout is {} seconds, and may be 0.001 to {}: to wait longer: {}--timeout",
                    file.string(), t.timeout_seconds, kLongestCertifiedTimeout, again));
  if (!t.name.empty() && !is_kernel_name(t.name))
    throw InputError(fmt::format("{}: its name {}: a name has letters, digits, _ and -", file.string(),
                                 shell_quoted(t.name)));
  return t;
}

}  // namespace assay
