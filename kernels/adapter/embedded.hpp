// SPDX-License-Identifier: Apache-2.0
// The files of this project with which a user's kernel is compiled. The binary contains them: a machine that
// has the binary and a compiler needs nothing else of this project.
#pragma once

#include <string_view>
#include <vector>

namespace assay {

struct EmbeddedText {
  std::string_view path;  // relative to the project
  std::string_view text;
};
const std::vector<EmbeddedText>& embedded_texts();
/// The cheats that `assay selftest` tries (reports/cheats).
const std::vector<EmbeddedText>& cheat_texts();
/// The case files of tests. Only programs with tests have them.
const std::vector<EmbeddedText>& case_texts();

}  // namespace assay
