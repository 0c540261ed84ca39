// SPDX-License-Identifier: Apache-2.0
// What a module of Python loads, as the supervisor sees it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "kernels/isolation/isolation_test.hpp"
#include "kernels/isolation/loaded/loaded_files.hpp"
#include "kernels/python/python_test.hpp"
#include "reference/hash/sha256.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

using isolation::LoadedFile;
using isolation::LoadedFiles;

const LoadedFile* file_called(const std::vector<LoadedFile>& all, const std::string& path) {
  const auto at = std::ranges::find(all, path, &LoadedFile::path);
  return at == all.end() ? nullptr : &*at;
}

std::string text_file(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

// Modules beside the target, data that is read and closed at once, and a library: none of them stays open.
TEST(PythonLoaded, AModuleOfPythonSaysAllThatItOpens) {
  ASSAY_NEEDS_PYTHON("ctypes");
  if (!std::filesystem::exists(isolation::fixture("fixture_right")))
    GTEST_SKIP() << "the fixtures are not here";
  const TestFolder folder;
  const std::filesystem::path at = std::filesystem::canonical(folder.path());
  const std::string helper = text_file(at / "helper_of_it.py", "def factor():\n    return 1\n");
  const std::string data = text_file(at / "weights.bin", "0123456789");
  const std::string library = at / "library_of_it.so";
  std::filesystem::copy_file(isolation::fixture("fixture_right"), library);
  PythonCallable c = callable("target.py", "f");
  c.place = at / "target.py";
  std::ofstream(c.place) << "import ctypes\nimport helper_of_it\nASSAY_TENSORS = 'dlpack'\n"
                         << "def f(x, out):\n    ctypes.CDLL('" << library << "')\n"
                         << "    open('" << data << "').read()\n";
  {
    const Variant v = load_python(c).at(0);
    isolation::Trial t(2, 9);
    EXPECT_EQ(t.run(v).fault, "");
    EXPECT_NE(file_called(LoadedFiles::of(c.place).all(), helper), nullptr)
        << "a worker that is alive is asked, too";
  }
  const std::vector<LoadedFile> all = LoadedFiles::of(c.place).all();
  const struct {
    const std::string &path, role;
  } expected[] = {{helper, "module"}, {data, "data"}, {library, "library"}};
  for (const auto& one : expected) {
    const LoadedFile* const file = file_called(all, one.path);
    ASSERT_NE(file, nullptr) << one.path;
    EXPECT_EQ(file->role, one.role) << one.path;
    EXPECT_EQ(file->sha256, sha256_of_file(one.path));
  }
  EXPECT_EQ(executed_sha256(c.place), sha256_of_file(c.place));
  EXPECT_TRUE(std::ranges::any_of(all, [](const LoadedFile& f) { return f.role == "runtime"; }));
}

}  // namespace
}  // namespace assay
