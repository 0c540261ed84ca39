// SPDX-License-Identifier: Apache-2.0
// Turns an unedited CUDA file into C++ for the host executor. Launches, shared memory and includes become
// calls of kernels/adapter/host_runtime.hpp. Everything else stays as it is, line by line, so that a fault
// names the author's own lines. A word that the executor does not support becomes an error in its place. The
// preprocessor sees that error only if the code is live.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/adapter/entry/tokens.hpp"

namespace assay {

/// The message of every error for an unsupported word begins with this.
inline constexpr const char* kNotExecutable = "unsupported: executor: ";

/// Called for `#include "name"` and, not quoted, `#include <name>`. Returns the file to include instead, or
/// empty to leave the line as it is.
using IncludeResolver = std::function<std::string(std::string_view name, bool quoted)>;

/// `path` is the file's name in messages and in #line.
std::string host_source(std::string_view source, std::string_view path, const IncludeResolver& resolve);

/// A CUDA source as tokens, in which launches, shared memory and function bodies have been found.
class MarkedSource {
 protected:
  MarkedSource(std::string_view source, bool in_macro);

  struct LaunchAt {
    std::size_t angle, close_angle, open, close;  // live indices of <<<, >>>, ( and )
  };
  struct SharedAt {
    std::size_t end;  // live index of ';'
  };

  const SourceToken& at(std::size_t live) const { return t_[live_[live]]; }
  bool word(std::size_t live, std::string_view s) const { return live < live_.size() && at(live).is(s); }
  /// True if live tokens s, s+1 and s+2 are all the character c, with nothing between them.
  bool triple(std::size_t s, std::string_view c) const {
    return s + 2 < live_.size() && at(s).is(c) && at(s + 1).is(c) && at(s + 2).is(c) &&
           live_[s + 2] == live_[s] + 2;
  }
  bool opens_launch(std::size_t s) const { return triple(s, "<") && s > 0; }

  std::size_t close_of(std::size_t s, std::string_view open, std::string_view close) const;
  /// Finds the braces that are bodies of functions: those not preceded by a namespace, class or enum.
  void find_functions();
  /// Where the expression that names the kernel begins. Examples of it: ns::kernel<T, 256>, (kernel).
  std::size_t kernel_begin(std::size_t angle) const;
  void find_launch(std::size_t angle);
  void find_shared(std::size_t s);

  std::vector<SourceToken> t_;
  std::vector<std::size_t> live_;  // tokens that are neither blanks nor directives
  std::vector<bool> function_;     // for each live token: inside a function's body
  std::map<std::size_t, LaunchAt> launches_;
  std::map<std::size_t, SharedAt> shared_;
  bool in_macro_;
};

}  // namespace assay
