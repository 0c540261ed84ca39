// SPDX-License-Identifier: Apache-2.0
// What a multiprocessor of compute capability 9.0 holds of onepass_fast, for the most usual size of every
// rung: registers of a thread, and blocks at the same time. Two or more blocks overlap: one loads while
// another stores. A test compares the table with the compiled kernels on such a GPU. The registers are those
// of nvcc 13.0; another compiler is not compared.
#pragma once

#include <optional>

#include "reference/formats.hpp"

namespace assay {

struct Resident {
  int registers, blocks;
  friend bool operator==(const Resident&, const Resident&) = default;
};

/// A kernel, at the size of block that its rung has most often. `count`: accesses that a thread holds.
/// `room`: those in a block's shared memory. `again`: the row does not fit and is read twice.
struct RungOfTable {
  const char* rung;
  int count, threads, room;
  bool again;
  Resident f32, f16, bf16;
};

inline constexpr RungOfTable kResident[] = {
    {"lanes", 2, 256, 0, false, {28, 8}, {32, 8}, {31, 8}},
    {"warp", 4, 256, 0, false, {40, 6}, {40, 6}, {48, 5}},
    {"block", 2, 512, 0, false, {32, 4}, {32, 4}, {32, 4}},
    {"block", 4, 512, 0, false, {32, 4}, {32, 4}, {32, 4}},
    {"block", 8, 512, 0, false, {64, 2}, {62, 2}, {62, 2}},
    {"cluster", 2, 256, 0, false, {32, 8}, {32, 8}, {32, 8}},
    {"cluster", 4, 256, 0, false, {44, 5}, {32, 8}, {32, 8}},
    {"cluster", 8, 512, 0, false, {61, 2}, {64, 2}, {64, 2}},
    {"cluster", 8, 1024, 0, true, {63, 1}, {63, 1}, {63, 1}},
    {"boxed", 8, 512, 6144, false, {61, 2}, {64, 2}, {64, 2}},
    {"boxed", 8, 1024, 12288, false, {61, 1}, {64, 1}, {64, 1}},
    {"grid", 2, 512, 0, false, {32, 4}, {32, 4}, {32, 4}},
    {"grid", 4, 512, 0, false, {48, 2}, {40, 3}, {41, 2}},
    {"grid", 8, 512, 0, false, {61, 2}, {62, 2}, {62, 2}},
};

/// What the compiler made of the kernel; empty if the GPU has another compute capability, or
/// another compiler made it. Set by
/// onepass_fast.cu where it is compiled for a GPU.
using CompiledResident = std::optional<Resident> (*)(const RungOfTable&, Dtype);
inline constinit CompiledResident compiled_resident = nullptr;

}  // namespace assay
