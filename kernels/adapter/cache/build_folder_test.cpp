// SPDX-License-Identifier: Apache-2.0
// Without a home, files are built in a folder under a name that anybody can make first.
#include "kernels/adapter/cache/build_folder.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
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

// The build folder keeps to its size: what was used longest ago goes first, and what is in use stays.

namespace fs = std::filesystem;

TEST(Evict, TheLongestUnusedGoesFirst) {
  const TestFolder own;
  const auto now = fs::file_time_type::clock::now();
  const auto make = [&](const std::string& name, int hours) {
    const fs::path file = own.path() / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << std::string(1000, 'x');
    fs::last_write_time(file, now - std::chrono::hours(hours));
    if (file.parent_path() != own.path())
      fs::last_write_time(file.parent_path(), now - std::chrono::hours(hours));
  };
  make("old.so", 30);
  make("older/a.o", 40);
  make("newer.so", 20);
  make("fresh.so", 0);
  evict_old(own.path(), 4000);
  EXPECT_TRUE(fs::exists(own.path() / "older/a.o")) << "there is room for all";
  evict_old(own.path(), 2500);
  EXPECT_FALSE(fs::exists(own.path() / "older"));
  EXPECT_FALSE(fs::exists(own.path() / "old.so"));
  EXPECT_TRUE(fs::exists(own.path() / "newer.so"));
  note_use(own.path() / "newer.so");
  evict_old(own.path(), 0);
  EXPECT_TRUE(fs::exists(own.path() / "newer.so")) << "it was used just now";
  EXPECT_TRUE(fs::exists(own.path() / "fresh.so"));
}

TEST(Evict, ABuildInAnInnerFolderIsInUse) {
  const TestFolder own;
  const auto then = fs::file_time_type::clock::now() - std::chrono::hours(30);
  for (const char* name : {"used", "unused"}) {
    const fs::path inner = own.path() / name / "inner";
    fs::create_directories(inner);
    std::ofstream(inner / "a.so") << std::string(1000, 'x');
    for (const fs::path& p : {inner / "a.so", inner, inner.parent_path()}) fs::last_write_time(p, then);
  }
  note_use(own.path() / "used/inner");
  evict_old(own.path(), 0);
  EXPECT_TRUE(fs::exists(own.path() / "used/inner/a.so"));
  EXPECT_FALSE(fs::exists(own.path() / "unused"));
}

TEST(Evict, TheLimitIsANumberOfMegabytes) {
  EXPECT_EQ(cache_limit(), 2'000'000'000u);
  setenv("ASSAY_CACHE_MB", "7", 1);
  EXPECT_EQ(cache_limit(), 7'000'000u);
  for (const char* bad : {"", "7MB", "-1", "1e3"}) {
    setenv("ASSAY_CACHE_MB", bad, 1);
    EXPECT_THROW(cache_limit(), InputError) << bad;
  }
  unsetenv("ASSAY_CACHE_MB");
}

// A build is taken from the cache only with the bytes that were written, and with what it was linked with.

namespace fs = std::filesystem;

class SealedBuilds : public ::testing::Test {
 protected:
  void text(const std::string& name, const std::string& what) const {
    std::ofstream(own_.path() / name, std::ios::binary) << what;
  }
  BuildPlace place(const std::string& source) const { return {own_.path(), "a", sha256_of(source), ".so"}; }
  std::optional<SealedBuild> found(const std::string& source) {
    SystemHashes hashes(own_.path());
    changed_.clear();
    return place(source).find(hashes, changed_);
  }
  SealedBuild kept(const std::string& source, std::vector<HashedFile> read = {}) const {
    text("part", "bytes of " + source);
    return place(source).keep(own_.path() / "part", std::move(read), "a note");
  }
  TestFolder own_;
  std::string changed_;
};

TEST_F(SealedBuilds, TheSameIsFoundAgain) {
  EXPECT_FALSE(found("x"));
  const SealedBuild made = kept("x");
  EXPECT_EQ(read_text(made.path), "bytes of x");
  const auto again = found("x");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->path, made.path);
  EXPECT_EQ(again->sha256, sha256_of("bytes of x"));
  EXPECT_EQ(again->note, "a note");
  EXPECT_FALSE(found("y"));
  EXPECT_EQ(changed_, "");
}

TEST_F(SealedBuilds, OtherBytesAreNotTaken) {
  const SealedBuild made = kept("x");
  std::ofstream(made.path, std::ios::binary) << "bytes of z";
  EXPECT_FALSE(found("x"));
  EXPECT_NE(changed_.find("is not what was built"), std::string::npos) << changed_;
  EXPECT_EQ(changed_.find('\n'), std::string::npos);
  kept("x");
  EXPECT_TRUE(found("x"));
  // A link to the right bytes is no build: it may lead elsewhere a moment later.
  fs::rename(made.path, own_.path() / "elsewhere");
  fs::create_symlink(own_.path() / "elsewhere", made.path);
  EXPECT_FALSE(found("x"));
}

TEST_F(SealedBuilds, ANameIsNoIdentity) {
  // Two keys with the same beginning have the same folder. The seal holds the whole key.
  const std::string one = std::string(64, 'a'), other = std::string(63, 'a') + "b";
  text("part", "one");
  BuildPlace(own_.path(), "a", one, ".so").keep(own_.path() / "part", {});
  SystemHashes hashes(own_.path());
  EXPECT_TRUE(BuildPlace(own_.path(), "a", one, ".so").find(hashes, changed_));
  EXPECT_FALSE(BuildPlace(own_.path(), "a", other, ".so").find(hashes, changed_));
}

// nvcc gives its arguments to a shell.
TEST(PlainName, MeansNothingToAShell) {
  EXPECT_EQ(plain_name("softmax_v2.1-a"), "softmax_v2.1-a");
  const std::string plain = plain_name("$(touch pwned) `x`;'\"\n|&<>*?~k\xc3\xa9r");
  EXPECT_TRUE(plain.starts_with("__touch_pwned_")) << plain;
  EXPECT_EQ(plain.find_first_of("$()`;'\"\n|&<>*?~ "), plain.npos) << plain;
  EXPECT_EQ(plain_name("-o"), "_-o");
  EXPECT_EQ(plain_name(std::string(500, 'x')).size(), 80u);
}

TEST_F(SealedBuilds, WhatItWasLinkedWithIsTheSame) {
  text("helper.o", "first");
  const std::string helper = (own_.path() / "helper.o").string();
  kept("x", {{helper, sha256_of("first")}});
  EXPECT_TRUE(found("x"));
  text("helper.o", "other");
  EXPECT_FALSE(found("x"));
  EXPECT_EQ(changed_, "");
  fs::remove(helper);
  EXPECT_FALSE(found("x"));
}

TEST_F(SealedBuilds, HalfASealIsNone) {
  kept("x", {{"/usr/include/none.h", std::string(64, '0')}});
  const fs::path seal = place("x").folder() / "seal";
  const std::string whole = read_text(seal);
  for (const std::string& bad :
       {std::string(), whole.substr(0, whole.size() - 4), "assay build 9" + whole.substr(13)}) {
    write_text(seal, bad);
    EXPECT_FALSE(found("x")) << bad;
  }
}

TEST_F(SealedBuilds, HashesOfTheSystemAreRememberedByWhatTheFileSystemSays) {
  SystemHashes first(own_.path());
  const std::string hash = first.of("/bin/sh");
  EXPECT_EQ(hash, sha256_of_file("/bin/sh"));
  first.remember();
  EXPECT_NE(read_text(own_.path() / "system-hashes").find(hash), std::string::npos);
  EXPECT_EQ(SystemHashes(own_.path()).of("/bin/sh"), hash);
  // What has just been written may change without another time.
  text("fresh", "a");
  EXPECT_EQ(first.of(own_.path() / "fresh"), sha256_of("a"));
  text("fresh", "b");
  EXPECT_EQ(first.of(own_.path() / "fresh"), sha256_of("b"));
  EXPECT_THROW(first.of("/dev/null"), InputError);
}

}  // namespace
}  // namespace assay
