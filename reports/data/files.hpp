// Files are written whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Creates the folder (and its parents) and proves it can be written. Throws InputError naming it.
void prepare_folder(const std::filesystem::path& folder);

/// Writes all of the files beside their places first and renames them then, so that a set stays a set.
/// Throws InputError naming the file and the reason; nothing has changed then.
void write_files(const std::vector<std::pair<std::filesystem::path, std::string>>& files);

/// Reads a whole text file. Throws InputError naming it.
std::string read_file(const std::filesystem::path& file);

}  // namespace assay
