// SPDX-License-Identifier: Apache-2.0
// Files that were damaged: one line in plain words that names the file, and exit status 2.
#include <algorithm>
#include <utility>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"

namespace assay {
namespace {

TEST(BadFiles, AreRefusedInOnePlainLine) {
  const TestFolder own;
  const std::string file = (own.path() / "file.json").string(), out = (own.path() / "out").string();
  std::filesystem::create_directories(own.path() / "inputs");
  const std::string manifest = (own.path() / "inputs/manifest.json").string();
  const std::vector<std::vector<std::string>> commands = {
      {"report", "--key", "online_warp/f16@host", "--family", "normal_1", "--V", "33", "--compare", file},
      {"report", "--key", "online_warp/f16@host", "--family", "normal_1", "--V", "33", "--functions", file},
      {"report", "--key", "online_warp/f16@host", "--family", "normal_1", "--V", "33", "--oracle-speed",
       file},
      {"replay", file},
      {"sweep", "--compare", file, "--new", file},
      {"grade", (own.path() / "inputs").string()}};
  const std::string texts[] = {
      "",
      "{",
      "[1,2\n",
      "\xff\xfe\x01",
      "null\n",
      "3\n",
      "[]\n",
      "{\"key\": 3}\n",
      "{\"key\":\"a/f32@host\",\"V\":\"x\"}\n",
      "{\"assay_case\": 1, \"genome\": {}}\n",
      "{\"format\": [], \"family\": {}, \"functions\": 3, \"environment\": 1e999}\n"};
  for (const std::string& text : texts) {
    std::ofstream(file, std::ios::binary) << text;
    std::ofstream(manifest, std::ios::binary) << text;
    for (std::vector<std::string> words : commands) {
      // A sweep's last line may be torn: that is a run that was killed, and no damage.
      if (words[0] == "sweep" && !text.ends_with('\n')) continue;
      if (words[0] == "report") words.insert(words.end(), {"--out", out});
      const auto o = command_test::call_words(words);
      EXPECT_EQ(o.status, kBadCall) << words[0] << " " << words.back() << ": " << text;
      EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << o.err;
      EXPECT_EQ(o.err.find("json.exception"), std::string::npos) << o.err;
      EXPECT_NE(o.err.find(own.path().string()), std::string::npos) << words[0] << ": " << o.err;
    }
  }
}

}  // namespace
}  // namespace assay
