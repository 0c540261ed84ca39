# SPDX-License-Identifier: Apache-2.0
# Writes a .cpp that contains files as text: cmake -DROOT= -DFILES=a|b -DFUNCTION= -DOUT= -P embed_texts.cmake
set(text "// Generated: files of this project that travel in the binary.\n#include \"kernels/adapter/embedded.hpp\"\n\nnamespace assay {\n\nconst std::vector<EmbeddedText>& ${FUNCTION}() {\n  static const std::vector<EmbeddedText> all = {\n")
string(REPLACE "|" ";" files "${FILES}")
foreach(file ${files})
  file(READ ${ROOT}/${file} content)
  string(APPEND text "      {\"${file}\", R\"assay_text(${content})assay_text\"},\n")
endforeach()
string(APPEND text "  };\n  return all;\n}\n\n}  // namespace assay\n")
file(WRITE ${OUT} "${text}")
