// SPDX-License-Identifier: Apache-2.0
// Writes files whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace assay {

/// Creates the folder and its parents, and checks that it can be written. Throws InputError that names it.
void prepare_folder(const std::filesystem::path& folder);

/// What is to be written into a file: a text, or a function that writes it piece by piece. 400,000 records
/// are a gigabyte of text, which need not be in memory at once.
class FileContent {
 public:
  FileContent(std::string text) : text_(std::move(text)) {}
  FileContent(const char* text) : text_(text) {}
  FileContent(std::function<void(std::ostream&)> write) : write_(std::move(write)) {}
  void write(std::ostream& out) const;

 private:
  std::string text_;
  std::function<void(std::ostream&)> write_;
};

/// Paths and what is to be written there.
using Files = std::vector<std::pair<std::filesystem::path, FileContent>>;

/// First writes all files beside their targets, then renames them all, so that a set of files stays
/// consistent. Throws as throw_unwritten does; then nothing has changed.
void write_files(const Files& files);

/// Appends whole lines to a file. Throws EnvironmentError that names the file and the reason, at the line
/// that could not be written.
class LineFile {
 public:
  explicit LineFile(std::filesystem::path path);
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  void append(const std::string& line);

 private:
  std::filesystem::path path_;
  int file_;
};

/// `file`, or `file`.gz; "" if there is neither.
std::filesystem::path file_or_gz(const std::filesystem::path& file);

/// Reads a whole text file, inflated if its name ends with .gz. Throws InputError that names it.
std::string read_file(const std::filesystem::path& file);

/// The same of a file of JSON lines, without a torn last line, which a stopped run leaves: one without a line
/// break that is no JSON. Sets *torn, unless it is null, if the last line has no line break, whole or not.
std::string whole_lines(const std::filesystem::path& file, bool* torn);

/// Calls `read` with each line of a file's text that is not empty. If `read` throws, throws InputError that
/// names the file and the number of the line.
void for_each_line(const std::filesystem::path& file, const std::string& text,
                   const std::function<void(const std::string& line)>& read);

/// The same without the whole text in memory. Throws InputError if the file cannot be read.
void for_each_line(const std::filesystem::path& file,
                   const std::function<void(const std::string& line)>& read);

}  // namespace assay
