// SPDX-License-Identifier: Apache-2.0
// What a file says of its kernels: names, types, operands, declarations. It is read once and holds for all
// workers of the file. One that says something else when it is loaded again has two faces: one is judged, and
// the other has the contract.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/isolation/shared/message.hpp"

namespace assay::isolation {

inline constexpr std::uint32_t kMostEntries = 4096;

struct Description {
  explicit Description(std::vector<Described> of);
  std::vector<Described> entries;
  std::string sha256;  // of all that they say
};

/// What the first worker of this process said that loaded the file, or the module, by this command; `now`, if
/// this is the first. A file of another hash, or without one a file that was written since then, is another.
std::shared_ptr<const Description> first_description(const std::string& file, const std::string& sha256,
                                                     const std::vector<std::string>& command,
                                                     std::shared_ptr<const Description> now);

}  // namespace assay::isolation
