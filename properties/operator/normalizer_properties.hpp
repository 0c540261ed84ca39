// What ⊕ promises, as properties of an algebra: the kernels' own must have them all, the mutants in
// normalizer_mutants_test.cpp must each lack one.
#pragma once

#include <vector>

#include "properties/property.hpp"

namespace assay {

const std::vector<Property>& normalizer_properties();

}  // namespace assay
