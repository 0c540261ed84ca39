// SPDX-License-Identifier: Apache-2.0
// Where the outputs for a file of logits are expected, and the list of a folder of inputs: what each file
// attacks, and where its outputs are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/runs/graded.hpp"

namespace assay {

/// What the values of an op are called in files: "probs", or "values". Also the array name in "x.npz", if the
/// user names none.
const char* usual_name(Op op);

/// The file name of outputs beside a file of logits. For "normal_1_V33.npy" it is "normal_1_V33.probs.npy"
/// and "normal_1_V33.indices.npy"; for ops whose values are no probabilities "normal_1_V33.values.npy".
std::filesystem::path values_beside(const std::filesystem::path& logits, Op op);
std::filesystem::path indices_beside(const std::filesystem::path& logits);

struct Manifest {
  Op op = Op::softmax;
  Pick pick = {};
  std::uint64_t seed = 1;
  struct Entry {
    std::string file, family, attacks;
    Dtype dtype = Dtype::f32;
    std::int64_t rows = 0, V = 0;
  };
  std::vector<Entry> entries;
};

inline constexpr const char* kManifest = "manifest.json";

/// `folder`: the folder as written on the command line that grades the outputs.
std::string render_manifest(const Manifest& m, const std::string& folder);
/// The manifest in a text. Throws InputError that names `file` and the field.
Manifest manifest_from_text(const std::string& text, const std::string& file);
/// Reads FOLDER/manifest.json. Throws InputError that names the file and the field.
Manifest read_manifest(const std::filesystem::path& folder);

/// The outputs that belong to the entries, whether they exist or not.
std::vector<Graded> outputs_of(const Manifest& m, const std::filesystem::path& folder);

}  // namespace assay
