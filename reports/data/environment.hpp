// Where, and with which program, a report was made.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Label and value pairs: version, commit, machine, compiler, flags, GPU.
std::vector<std::pair<std::string, std::string>> environment();

}  // namespace assay
