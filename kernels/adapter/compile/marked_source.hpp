// A CUDA source as tokens, with its launches, its shared memory and the bodies of its functions found in
// them.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <vector>

#include "kernels/adapter/entry/source_tokens.hpp"

namespace assay {

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
  /// Live tokens s, s+1, s+2 are this character three times, with nothing between.
  bool triple(std::size_t s, std::string_view c) const {
    return s + 2 < live_.size() && at(s).is(c) && at(s + 1).is(c) && at(s + 2).is(c) &&
           live_[s + 2] == live_[s] + 2;
  }
  bool opens_launch(std::size_t s) const { return triple(s, "<") && s > 0; }

  std::size_t close_of(std::size_t s, std::string_view open, std::string_view close) const;
  /// Which braces are bodies of functions: what stands before them is no namespace, class or enum.
  void find_functions();
  /// Where the expression that names the kernel begins: ns::kernel<T, 256>, (kernel).
  std::size_t kernel_begin(std::size_t angle) const;
  void find_launch(std::size_t angle);
  void find_shared(std::size_t s);

  std::vector<SourceToken> t_;
  std::vector<std::size_t> live_;  // tokens that are neither blank nor directives
  std::vector<bool> function_;     // of live tokens: inside a function's body
  std::map<std::size_t, LaunchAt> launches_;
  std::map<std::size_t, SharedAt> shared_;
  bool in_macro_;
};

}  // namespace assay
