// SPDX-License-Identifier: Apache-2.0
#include "reports/data/files.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "reference/error.hpp"
#include "reference/paths.hpp"
#include "reference/text.hpp"

namespace assay {

namespace fs = std::filesystem;

void prepare_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError("--out " + folder.string() + ": cannot be made: " + error.message());
  if (!fs::is_directory(folder)) throw InputError("--out " + folder.string() + ": is not a folder");
  const fs::path probe = unique_part(folder / ".probe");
  std::ofstream(probe) << "x";
  if (!fs::remove(probe, error)) throw InputError("--out " + folder.string() + ": cannot be written");
}

void FileContent::write(std::ostream& out) const {
  if (write_)
    write_(out);
  else
    out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
}

void write_files(const Files& files) {
  std::vector<fs::path> parts;
  std::error_code error;
  const auto clean = [&] {
    for (const fs::path& part : parts) fs::remove(part, error);
  };
  for (const auto& [file, content] : files) {
    if (fs::is_directory(file)) {
      clean();
      throw InputError(file.string() + ": cannot be written: it is a folder");
    }
    parts.push_back(unique_part(file));
    errno = 0;
    std::ofstream out(parts.back(), std::ios::binary);
    content.write(out);
    out.close();
    if (!out) {
      const int why = errno;
      clean();
      throw_unwritten(file, why);
    }
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    fs::rename(parts[i], files[i].first, error);
    if (error) {
      const int why = error.value();
      clean();
      throw_unwritten(files[i].first, why);
    }
  }
}

LineFile::LineFile(fs::path path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_ < 0) throw_unwritten(path_, errno);
}

LineFile::~LineFile() { close(file_); }

void LineFile::append(const std::string& line) {
  for (std::size_t done = 0; done < line.size();) {
    const ssize_t n = write(file_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw_unwritten(path_, errno);
    done += static_cast<std::size_t>(n);
  }
}

fs::path file_or_gz(const fs::path& file) {
  const fs::path packed = file.string() + ".gz";
  return fs::exists(file) ? file : fs::exists(packed) ? packed : fs::path();
}

static std::string inflated(const fs::path& file) {
  const std::unique_ptr<std::remove_pointer_t<gzFile>, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"),
                                                                           gzclose);
  std::string text;
  int n = in ? 0 : -1;
  do {
    const std::size_t had = text.size();
    text.resize(had + (std::size_t{1} << 20));
    if (n >= 0) n = gzread(in.get(), text.data() + had, 1 << 20);
    text.resize(had + static_cast<std::size_t>(n > 0 ? n : 0));
  } while (n > 0);
  int error = Z_OK;
  if (in) gzerror(in.get(), &error);
  if (n < 0 || (error != Z_OK && error != Z_STREAM_END)) throw InputError(file.string() + ": cannot be read");
  return text;
}

std::string read_file(const fs::path& file) {
  require_file(file);
  if (file.extension() == ".gz") return inflated(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(file.string() + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string whole_lines(const fs::path& file, bool* torn) {
  std::string text = read_file(file);
  const std::size_t rest = text.rfind('\n') + 1;
  if (torn) *torn = rest < text.size();
  if (!nlohmann::json::accept(text.begin() + static_cast<std::ptrdiff_t>(rest), text.end()))
    text.resize(rest);
  return text;
}

namespace {

void lines_in(std::istream& in, const fs::path& file, const std::function<void(const std::string&)>& read) {
  std::int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.empty()) continue;
    const auto refuse = [&](const std::string& why) {
      throw InputError(file.string() + ": line " + std::to_string(number) + ": " + why);
    };
    try {
      read(line);
    } catch (const EnvironmentError&) {
      throw;
    } catch (const nlohmann::json::exception& e) {
      refuse(plain_words(e));
    } catch (const std::exception& e) {
      refuse(e.what());
    }
  }
}

}  // namespace

void for_each_line(const fs::path& file, const std::string& text,
                   const std::function<void(const std::string&)>& read) {
  std::istringstream lines(text);
  lines_in(lines, file, read);
}

void for_each_line(const fs::path& file, const std::function<void(const std::string&)>& read) {
  require_file(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(file.string() + ": cannot be read");
  lines_in(in, file, read);
}

}  // namespace assay
