// Files are written whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace assay {

/// Creates the folder (and its parents) and proves it can be written. Throws InputError naming it.
void prepare_folder(const std::filesystem::path& folder);

/// Writes through a temporary file in the same folder and a rename. Throws InputError naming the file.
void write_file(const std::filesystem::path& file, std::string_view content);

/// Reads a whole text file. Throws InputError naming it.
std::string read_file(const std::filesystem::path& file);

}  // namespace assay
