// SPDX-License-Identifier: Apache-2.0
// Reads arrays from .npy, .npz and .safetensors files. The first bytes and the file name tell the format.
// FILE:NAME is one array of a file that holds several.
#pragma once

#include <filesystem>
#include <string>

#include "reference/files/byte_source.hpp"
#include "reference/files/npy.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// The file part of "x.npz:logits": the longest part before a ':' that is a file, otherwise the whole text.
std::filesystem::path file_of(const std::string& where);

/// Reads FILE or FILE:NAME. Without a name it takes the only array, or the one named `usual`. If there is
/// neither, it throws InputError with one line that lists the names.
StoredArray read_stored(const std::string& where, const std::string& usual);
/// The same for a file that is open. An empty name is none.
StoredArray read_stored(FileBytes file, const std::string& name, const std::string& usual);

/// The array as floats. For 16-bit elements without a type, where bf16 is refused, the error says to type
/// `say`.
Tensor tensor_of(StoredArray array, Bf16 bf16, const std::string& say = "--dtype bf16");
/// The array as indices; its type must be int32 or int64.
IndexMatrix indices_of(const StoredArray& array);

}  // namespace assay
