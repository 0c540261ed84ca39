// SPDX-License-Identifier: Apache-2.0
// Without a home, files are built in a folder under a name that anybody can make first.
#include "kernels/adapter/cache/build_folder.hpp"

#include <stdlib.h>
#include <unistd.h>

#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class SharedFolder : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"HOME", "XDG_CACHE_HOME", "TMPDIR"}) {
      const char* const value = getenv(name);
      before_.emplace_back(name, value ? value : "");
    }
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    setenv("TMPDIR", shared_.path().c_str(), 1);
  }
  void TearDown() override {
    for (const auto& [name, value] : before_)
      value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }
  fs::path place() const { return shared_.path() / ("assay-" + std::to_string(getuid())); }
  static std::string refusal() {
    try {
      build_folder("");
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

 private:
  const TestFolder shared_;
  std::vector<std::pair<std::string, std::string>> before_;
};

TEST_F(SharedFolder, IsMadeForItsUserAlone) {
  EXPECT_EQ(build_folder(""), place());
  EXPECT_EQ(fs::status(place()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(build_folder(""), place()) << "and used again";
}

TEST_F(SharedFolder, IsRefusedWhereOthersCanWrite) {
  fs::create_directory(place());
  fs::permissions(place(), fs::perms::all);
  EXPECT_NE(refusal().find("is another user's, or others write in it"), std::string::npos) << refusal();
}

TEST_F(SharedFolder, IsRefusedWhereItLeadsElsewhere) {
  const TestFolder elsewhere;
  fs::create_directory_symlink(elsewhere.path(), place());
  EXPECT_NE(refusal().find("is another user's"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace assay
