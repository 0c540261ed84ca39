#include "reports/files.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>
#include <system_error>

#include "reference/error.hpp"

namespace assay {

namespace fs = std::filesystem;

void prepare_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError("--out " + folder.string() + ": cannot be made: " + error.message());
  if (!fs::is_directory(folder)) throw InputError("--out " + folder.string() + ": is not a folder");
  const fs::path probe = folder / (".probe-" + std::to_string(getpid()));
  std::ofstream(probe) << "x";
  if (!fs::remove(probe, error)) throw InputError("--out " + folder.string() + ": cannot be written");
}

void write_file(const fs::path& file, std::string_view content) {
  const fs::path temporary = file.string() + ".part-" + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  std::error_code error;
  if (!out) {
    fs::remove(temporary, error);
    throw InputError(file.string() + ": cannot be written");
  }
  fs::rename(temporary, file, error);
  if (error) {
    const std::string why = error.message();
    fs::remove(temporary, error);
    throw InputError(file.string() + ": cannot be written: " + why);
  }
}

std::string read_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file)) throw InputError(file.string() + ": cannot be read");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace assay
