// SPDX-License-Identifier: Apache-2.0
// The library that makes a Python process a worker. The binary contains it.
#pragma once

#include <span>

namespace assay {

std::span<const char> embedded_worker();

}  // namespace assay
