// SPDX-License-Identifier: Apache-2.0
// Runs a target on its committed inputs, which so become an ordinary test, without a fuzzer. They are the
// parts of a file: the lines after "== NAME", without the last line break. Those of a .hex are digits of
// bytes.
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/targets/target.hpp"

namespace {

std::string bytes_of(const std::string& digits) {
  std::string all;
  for (std::size_t i = 0, n = digits.size(); i + 1 < n; i += digits[i] == '\n' ? 1 : 2)
    if (digits[i] != '\n') all += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return all;
}

std::vector<std::pair<std::string, std::string>> inputs_of(const std::filesystem::path& path) {
  std::vector<std::pair<std::string, std::string>> all;
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
  if (path.extension() == ".hex")
    for (auto& [name, bytes] : all) bytes = bytes_of(bytes);
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
