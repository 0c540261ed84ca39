// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/adopt/certified_words.hpp"

#include <fmt/format.h>

#include "kernels/adapter/toolchain/flags.hpp"
#include "reference/error.hpp"
#include "reference/text.hpp"
#include "reports/cli/adopt/judged_files.hpp"
#include "reports/cli/adopt/where_now.hpp"
#include "reports/targets/candidates.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {
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
