// SPDX-License-Identifier: Apache-2.0
// Finds the build folder and writes into it what is to be compiled.
#include "kernels/adapter/cache/build_folder.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include "kernels/adapter/embedded.hpp"
#include "reference/error.hpp"
#include "reference/file_writing.hpp"

namespace assay {

namespace fs = std::filesystem;

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!fs::is_regular_file(path) || !in || !(text << in.rdbuf() || text.str().empty()))
    throw InputError(path.string() + ": cannot be read");
  return text.str();
}

void write_text(const fs::path& path, std::string_view text) {
  fs::create_directories(path.parent_path());
  const fs::path part = unique_part(path);
  std::ofstream out(part, std::ios::binary);
  out << text;
  out.close();
  if (!out) {
    const int why = errno;
    std::error_code ignored;
    fs::remove(part, ignored);
    throw_unwritten(path, why);
  }
  fs::rename(part, path);
}

fs::path build_folder(const std::string& asked) {
  fs::path p = asked;
  if (p.empty()) {
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache && *cache == '/')
      p = fs::path(cache) / "assay";
    else if (home && *home == '/' && access(home, W_OK) == 0)
      p = fs::path(home) / ".cache/assay";
    else
      p = fs::temp_directory_path() / ("assay-" + std::to_string(getuid()));
  }
  std::error_code error;
  fs::create_directories(p, error);
  if (error || access(p.c_str(), W_OK) != 0)
    throw InputError(p.string() + ": the build folder cannot be written");
  return fs::absolute(p);
}

fs::path write_headers(const fs::path& build) {
  Fingerprint f;
  for (const EmbeddedText& t : embedded_texts()) f << t.path << t.text;
  const fs::path folder = build / ("headers-" + f.text().substr(0, 16));
  if (fs::exists(folder / "complete")) {
    note_use(folder);
    return folder;
  }
  for (const EmbeddedText& t : embedded_texts()) {
    write_text(folder / t.path, t.text);
    // The public headers are C++17 and end in .h.
    if (const fs::path name = fs::path(t.path).filename(); name.extension() == ".h")
      write_text(folder / "assay" / name, t.text);
  }
  write_text(folder / "complete", "");
  return folder;
}

}  // namespace assay
