// SPDX-License-Identifier: Apache-2.0
// Runs a target on its committed inputs, which so become an ordinary test, without a fuzzer. They are the
// files of a folder, or the parts of a text file: the lines after "== NAME", without the last line break.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "fuzz/targets/target.hpp"

namespace {

std::vector<std::pair<std::string, std::string>> inputs_of(const std::filesystem::path& path) {
  std::vector<std::pair<std::string, std::string>> all;
  if (std::filesystem::is_directory(path)) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      all.emplace_back(entry.path().filename(), text.str());
    }
    return all;
  }
  std::ifstream in(path, std::ios::binary);
  bool first = true;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      all.emplace_back(line.substr(3), "");
      first = true;
    } else if (!all.empty()) {
      all.back().second += std::exchange(first, false) ? line : "\n" + line;
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  int inputs = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& [name, bytes] : inputs_of(argv[i])) {
      std::printf("%s: %zu bytes\n", name.c_str(), bytes.size());
      std::fflush(stdout);
      // A copy of exactly this size, so that a sanitizer notices a read of one byte too many.
      const std::string exact(bytes.data(), bytes.size());
      for (std::size_t cut :
           {exact.size(), exact.size() / 3, exact.size() / 2, exact.size() - (exact.empty() ? 0 : 1)})
        assay::fuzz::run(reinterpret_cast<const std::uint8_t*>(exact.data()), cut);
      ++inputs;
    }
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
