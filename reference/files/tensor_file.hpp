// The front door of arrays in files: .npy, .npz and .safetensors, told apart by their first bytes and their
// names. One array of a file that holds several is FILE:NAME.
#pragma once

#include <filesystem>
#include <string>

#include "reference/files/npy.hpp"
#include "reference/files/stored_array.hpp"
#include "reference/tensor.hpp"

namespace assay {

/// The file of "x.npz:logits": the longest part before a ':' that is a file, or all of it.
std::filesystem::path file_of(const std::string& where);

/// FILE or FILE:NAME. Without a name: the only array, or the one called `usual`; where there is neither, one
/// line lists the names. Throws InputError.
StoredArray read_stored(const std::string& where, const std::string& usual);

/// Floats. Of 16 bits without a type the error says to type `say`, where bf16 is refused.
Tensor tensor_of(StoredArray array, Bf16 bf16, const std::string& say = "--dtype bf16");
/// int32 or int64.
IndexMatrix indices_of(const StoredArray& array);

}  // namespace assay
