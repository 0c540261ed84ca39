// SPDX-License-Identifier: Apache-2.0
// Runs a target on the files of a folder: the committed inputs become an ordinary test, without a fuzzer.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/targets/target.hpp"

int main(int argc, char** argv) {
  int inputs = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << in.rdbuf();
      const std::string bytes = text.str();
      std::printf("%s: %zu bytes\n", entry.path().c_str(), bytes.size());
      std::fflush(stdout);
      // A copy of exactly this size, so that a sanitizer notices a read of one byte too many.
      const std::string exact(bytes.data(), bytes.size());
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(exact.data()), exact.size());
      for (std::size_t cut : {exact.size() / 3, exact.size() / 2, exact.size() - (exact.empty() ? 0 : 1)})
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(exact.data()), cut);
      ++inputs;
    }
  std::printf("%d inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
