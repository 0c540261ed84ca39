// SPDX-License-Identifier: Apache-2.0
// The table of registers and blocks on a multiprocessor says what the compiler made of the kernels.
#include "kernels/building_blocks/onepass/resident.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "kernels/device.hpp"
#include "kernels/registry.hpp"

namespace assay {
namespace {

TEST(OnepassResident, TheTableSaysWhatWasCompiled) {
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  ASSERT_NE(compiled_resident, nullptr);
  for (const RungOfTable& r : kResident) {
    std::string line = fmt::format("{{\"{}\", {}, {}, {}, {}", r.rung, r.count, r.threads, r.room, r.again);
    bool as_said = true;
    const std::pair<Dtype, Resident> columns[] = {
        {Dtype::f32, r.f32}, {Dtype::f16, r.f16}, {Dtype::bf16, r.bf16}};
    for (const auto& [dtype, said] : columns) {
      const std::optional<Resident> seen = compiled_resident(r, dtype);
      if (!seen) GTEST_SKIP() << "the table is of compute capability 9.0 and nvcc 13.0";
      as_said = as_said && *seen == said;
      line += fmt::format(", {{{}, {}}}", seen->registers, seen->blocks);
    }
    EXPECT_TRUE(as_said) << "the table needs the line\n    " << line << "},";
  }
}

// Where a step of the ladder counts on two blocks of a multiprocessor, there are two.
TEST(OnepassResident, HalfABlockLeavesRoomForASecond) {
  for (const RungOfTable& r : kResident)
    for (const Resident& seen : {r.f32, r.f16, r.bf16}) {
      EXPECT_GE(seen.blocks, r.threads <= 512 ? 2 : 1) << r.rung << ", " << r.count;
      EXPECT_GE(65536, seen.registers * r.threads * seen.blocks) << r.rung << ", " << r.count;
    }
}

}  // namespace
}  // namespace assay
