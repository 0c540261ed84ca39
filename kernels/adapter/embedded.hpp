// The files of this project that somebody else's kernel is compiled with. They travel in the binary: a
// machine that has it and a compiler needs nothing else of this project.
#pragma once

#include <string_view>
#include <vector>

namespace assay {

struct EmbeddedText {
  std::string_view path;  // relative to the project
  std::string_view text;
};
const std::vector<EmbeddedText>& embedded_texts();

}  // namespace assay
