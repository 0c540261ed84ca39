// Writes files whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Creates the folder and its parents, and checks that it can be written. Throws InputError that names it.
void prepare_folder(const std::filesystem::path& folder);

/// First writes all files beside their targets, then renames them all, so that a set of files stays
/// consistent. Throws InputError that names the file and the reason; then nothing has changed.
void write_files(const std::vector<std::pair<std::filesystem::path, std::string>>& files);

/// `file`, or `file`.gz; "" if there is neither.
std::filesystem::path file_or_gz(const std::filesystem::path& file);

/// Reads a whole text file, inflated if its name ends with .gz. Throws InputError that names it.
std::string read_file(const std::filesystem::path& file);

/// Calls `read` with each line of a file's text that is not empty. If `read` throws, throws InputError that
/// names the file and the number of the line.
void for_each_line(const std::filesystem::path& file, const std::string& text,
                   const std::function<void(const std::string& line)>& read);

}  // namespace assay
