// SPDX-License-Identifier: Apache-2.0
// A batch of kernels: one that dies while it is loaded does not take the others with it, and kernels of one
// name in several files are told apart.
#include <set>

#include "reference/test_folder.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/targets/check_targets.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string plugin_fixture(const std::string& name) {
  return std::string(ASSAY_FIXTURES) + "/" + name + ".so";
}

TEST(Batch, KernelsOfOneNameInTwoFilesAreToldApart) {
  if (!fs::exists(plugin_fixture("fixture_declared"))) GTEST_SKIP();
  const TestFolder own;
  fs::create_directories(own.path() / "other");
  std::vector<std::string> words;
  for (const char* name : {"a.so", "b.so", "other/a.so"}) {
    fs::copy_file(plugin_fixture("fixture_declared"), own.path() / name);
    words.push_back((own.path() / name).string());
  }
  std::set<std::string> keys, names, files;
  for (const Target& t : resolve_targets({words, {}})) {
    keys.insert(t.variant.key());
    EXPECT_EQ(t.make().key(), t.variant.key());
    names.insert(t.unique_name());
    // The same file alone, as in a later run.
    const Target alone = resolve_targets({{t.file}, {}}).at(0);
    EXPECT_EQ(alone.variant.variant, "c99_softmax");
    files.insert(alone.unique_name());
  }
  EXPECT_EQ(keys, (std::set<std::string>{"a.c99_softmax/f32@plugin", "a.c99_softmax-2/f32@plugin",
                                         "b.c99_softmax/f32@plugin"}));
  EXPECT_EQ(names.size(), 3u);
  EXPECT_EQ(files.size(), 3u) << "a corpus must not be shared by kernels of several files";
}

}  // namespace
}  // namespace assay
