// The library that makes a Python process a worker: it travels in the binary.
#pragma once

#include <span>

namespace assay {

std::span<const char> embedded_worker();

}  // namespace assay
