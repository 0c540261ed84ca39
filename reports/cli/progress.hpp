// SPDX-License-Identifier: Apache-2.0
// Shows the progress of a long command on standard error.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "reports/data/say.hpp"

namespace assay {

/// True if standard error is a terminal that can write over its line: TERM=dumb can not.
inline bool redraws_lines() {
  const char* const term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && !(term && std::string_view(term) == "dumb");
}

/// On a terminal a bar that redraws itself, elsewhere a line every tenth.
class Progress {
 public:
  void operator()(std::int64_t done, std::int64_t planned) {
    const auto percent = static_cast<int>(100 * done / planned);
    if (terminal_) {
      if (percent == shown_) return;
      const int filled = percent * 40 / 100;
      redraw("[{}{}] {:3d} %  {} of {} records", std::string(static_cast<std::size_t>(filled), '#'),
             std::string(static_cast<std::size_t>(40 - filled), '.'), percent, done, planned);
      if (done == planned) say("\n");
    } else {
      if (percent / 10 == shown_ / 10 && done != planned) return;
      say("{} of {} records\n", done, planned);
    }
    shown_ = percent;
  }

 private:
  bool terminal_ = redraws_lines();
  int shown_ = 0;
};

/// Shows what is being compiled, on the line where the bar will be. Only for a terminal.
class CompilationLine {
 public:
  /// Empty: the compilation has ended, and the line is blank again.
  void operator()(const std::string& what) {
    const std::string line = what.empty() ? "" : what + " ...";
    redraw("{:<{}}", line, shown_);
    if (line.empty()) redraw("");
    shown_ = line.size();
  }

 private:
  std::size_t shown_ = 0;
};

}  // namespace assay
