// SPDX-License-Identifier: Apache-2.0
// What ⊕ promises, as properties of an algebra. The kernels' own algebra must have them all; each mutant in
// normalizer_mutants_test.cpp must lack one.
#pragma once

#include <vector>

#include "properties/property.hpp"

namespace assay {

const std::vector<Property>& normalizer_properties();

}  // namespace assay
