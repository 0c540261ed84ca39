# SPDX-License-Identifier: Apache-2.0
# Writes a header with one constant per file that holds the file's text, for example page_css for page.css. The
# text begins on its own line. A comment at the beginning of a file is left out.
# cmake -DROOT= -DFILES=a|b -DNAMESPACE= -DOUT= -P embed_strings.cmake
set(text "// Generated: files of this project that travel in the binary.\n#pragma once\n\n#include <string_view>\n\nnamespace ${NAMESPACE} {\n\n")
string(REPLACE "|" ";" files "${FILES}")
foreach(file ${files})
  file(READ ${ROOT}/${file} content)
  string(REGEX REPLACE "^/[*][^*]*[*]/\n" "" content "${content}")
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} name)
  string(APPEND text "inline constexpr std::string_view ${name} = R\"assay_text(\n${content})assay_text\";\n\n")
endforeach()
string(APPEND text "}  // namespace ${NAMESPACE}\n")
file(WRITE ${OUT} "${text}")
