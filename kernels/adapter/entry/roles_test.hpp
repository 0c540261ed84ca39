// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of roles: reads the roles of a declaration as one line of text.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "kernels/adapter/entry/roles.hpp"
#include "reference/error.hpp"

namespace assay::roles_test {

inline std::string roles(const EntrySignature& s) {
  std::string text;
  for (const Parameter& p : s.parameters)
    text += (text.empty() ? "" : " ") + (p.role == Role::literal ? p.literal : std::string(name(p.role)));
  return text;
}
/// Returns the roles, or the message that says why there are none.
inline std::string read(const char* entry, std::vector<EntryArgument> arguments = {},
                        std::optional<Op> op = {}) {
  try {
    return roles(parse_entry(entry, arguments, op));
  } catch (const InputError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
}

}  // namespace assay::roles_test
