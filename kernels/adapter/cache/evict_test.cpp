// SPDX-License-Identifier: Apache-2.0
// The build folder keeps to its size: what was used longest ago goes first, and what is in use stays.
#include <stdlib.h>

#include <chrono>
#include <fstream>

#include "kernels/adapter/cache/build_folder.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

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

}  // namespace
}  // namespace assay
