# SPDX-License-Identifier: Apache-2.0
# Writes C++ that contains files as text.
#   cmake -DROOT= -DFILES=a|b -DFUNCTION= -DOUT= -P embed.cmake    a .cpp whose function returns the files
#   cmake -DROOT= -DFILES=a|b -DNAMESPACE= -DOUT= -P embed.cmake   a header with one constant per file, for example page_css
#     for page.css. The text begins on its own line. A comment at the beginning of a file is left out.
set(text "// Generated: files of this project that travel in the binary.\n")
if(FUNCTION)
  string(APPEND text "#include \"kernels/adapter/embedded.hpp\"\n\nnamespace assay {\n\nconst std::vector<EmbeddedText>& ${FUNCTION}() {\n  static const std::vector<EmbeddedText> all = {\n")
  set(end "  };\n  return all;\n}\n\n}  // namespace assay\n")
else()
  string(APPEND text "#pragma once\n\n#include <string_view>\n\nnamespace ${NAMESPACE} {\n\n")
  set(end "}  // namespace ${NAMESPACE}\n")
endif()
string(REPLACE "|" ";" files "${FILES}")
foreach(file ${files})
  file(READ ${ROOT}/${file} content)
  if(FUNCTION)
    string(APPEND text "      {\"${file}\", R\"assay_text(${content})assay_text\"},\n")
  else()
    string(REGEX REPLACE "^/[*][^*]*[*]/\n" "" content "${content}")
    get_filename_component(name ${file} NAME)
    string(MAKE_C_IDENTIFIER ${name} name)
    string(APPEND text "inline constexpr std::string_view ${name} = R\"assay_text(\n${content})assay_text\";\n\n")
  endif()
endforeach()
file(WRITE ${OUT} "${text}${end}")
