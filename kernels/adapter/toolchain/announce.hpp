// SPDX-License-Identifier: Apache-2.0
// Tells whoever watches what is being compiled: a compiler is silent for seconds.
#pragma once

#include <functional>
#include <string>

namespace assay {

/// Receives "compiling softmax.cu" when a compiler starts, and an empty text when it has ended.
using Announce = std::function<void(const std::string& what)>;

/// Sets who is told; an empty function: nobody. What an earlier call compiled is not announced.
void announce_compilation(Announce to);

/// Says one line on standard error, after "assay: ".
void note_of_compilation(const std::string& line);

/// Announces a compilation, and its end when it is destroyed.
class Announced {
 public:
  explicit Announced(const std::string& what);
  ~Announced();
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;
};

}  // namespace assay
