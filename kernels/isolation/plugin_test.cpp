// SPDX-License-Identifier: Apache-2.0
// Shared objects of the C ABI: right ones are read; for a wrong one, one line says what is wrong.
#include <fstream>

#include "kernels/isolation/isolation_test.hpp"
#include "kernels/isolation/shared/runtime_name.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay::isolation {
namespace {

std::string refusal_of_plugin(const std::string& path, double seconds = 20) {
  try {
    load_plugin(path, {.timeout_seconds = seconds});
  } catch (const InputError& e) {
    return e.what();
  }
  return "it was accepted";
}

TEST(Plugin, ReadsARightOne) {
  ASSAY_NEEDS_FIXTURES();
  const std::vector<Variant> all = load_plugin(fixture("fixture_right"));
  ASSERT_EQ(all.size(), 1u);
  const Variant& v = all[0];
  EXPECT_EQ(v.key(), "c99_softmax/f32@plugin");
  EXPECT_EQ(v.origin, fixture("fixture_right"));
  EXPECT_EQ(v.op, Op::softmax);
  EXPECT_FALSE(v.declared);
  EXPECT_FALSE(v.writes_normalizer);
  EXPECT_FALSE(v.workspace_bytes);
  EXPECT_EQ(v.max_k, 0);
  for (const std::int64_t V : {0, 1, 33, 4096}) {
    Trial t(3, V);
    EXPECT_EQ(t.run(v).fault, "") << V;
    EXPECT_TRUE(t.right()) << V;
  }
}

TEST(Plugin, ReadsEveryVariantAndFindsOneByName) {
  ASSAY_NEEDS_FIXTURES();
  const std::string path = fixture("fixture_kernels");
  const std::vector<Variant> all = load_plugin(path);
  EXPECT_GT(all.size(), 20u);
  for (const Variant& v : all) {
    EXPECT_EQ(v.origin, path + "#" + v.variant);
    const std::vector<Variant> one = load_plugin(v.origin);
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(one[0].key(), v.key());
  }
  EXPECT_EQ(load_plugin(path + "#quarters/f16:f32").size(), 1u);
  EXPECT_EQ(refusal_of_plugin(path + "#quarters/f32"), path + ": has no variant quarters/f32");
}

/// AddressSanitizer's runtime must be the first library of a process. A worker begins again with it.
TEST(Plugin, WhatWasLinkedWithAddressSanitizerIsWatched) {
  if (!std::filesystem::exists(fixture("fixture_watched"))) GTEST_SKIP() << "this compiler did not build it";
  for (const bool sandbox : {true, false}) {
    const Variant v = load_plugin(fixture("fixture_watched"), {.sandbox = sandbox}).at(0);
    for (int n = 0; n < 2; ++n) {
      Trial t(3, 33);
      EXPECT_EQ(t.run(v).fault, "") << sandbox;
      EXPECT_TRUE(t.right());
      Trial past(3, 1000);
      const std::string fault = past.run(v).fault;
      EXPECT_NE(fault.find("AddressSanitizer: heap-buffer-overflow"), std::string::npos) << fault;
    }
  }
}

/// The name stands in a file that nobody trusts, and is to be loaded.
TEST(Plugin, OnlyARuntimeIsLoadedFirst) {
  for (const char* const right : {"libasan.so.8", "libclang_rt.asan-x86_64.so"})
    EXPECT_TRUE(is_runtime_name(right)) << right;
  for (const char* const wrong : {"", "libm.so.6", "/tmp/libasan.so.8", "libasan.so.8/../x",
                                  "libasan.so.8:x.so", "libasan.so.8 x.so", "xlibasan.so.8"})
    EXPECT_FALSE(is_runtime_name(wrong)) << wrong;
}

TEST(Plugin, AMissingRuntimeIsNamed) {
  const std::string watched = fixture("fixture_watched");
  if (!std::filesystem::exists(watched)) GTEST_SKIP() << "this compiler did not build it";
  // The same object, which names a runtime that no machine has.
  std::ifstream in(watched, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  const std::size_t at = bytes.find("libasan.so.");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 11] = 'x';
  const TestFolder folder;
  const std::string path = folder.path() / "lacks.so";
  std::ofstream(path, std::ios::binary) << bytes;
  const std::string why = refusal_of_plugin(path);
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_NE(why.find("can not be loaded"), std::string::npos) << why;
#else
  EXPECT_EQ(why, path + ": was linked with AddressSanitizer, and its runtime " + bytes.substr(at, 12) +
                     " can not be loaded: LD_LIBRARY_PATH may name the folder where it is");
#endif
}

TEST(Plugin, OtherVersionsOfTheStructsAreRead) {
  ASSAY_NEEDS_FIXTURES();
  Trial t(2, 33);
  const std::vector<Variant> older = load_plugin(fixture("fixture_older_variant"));
  EXPECT_FALSE(older.at(0).workspace_bytes) << "what lies past the struct's size counts as zero";
  EXPECT_EQ(t.run(older[0]).fault, "");
  EXPECT_TRUE(t.right());
  const std::vector<Variant> newer = load_plugin(fixture("fixture_newer_variant"));
  ASSERT_EQ(newer.size(), 2u);
  EXPECT_EQ(newer[1].variant, "second");
  EXPECT_EQ(t.run(newer[1]).fault, "");
}

/// One declaration for those who judge, and another for those who read the contract.
TEST(Plugin, WhatItSaysOfItselfIsReadOnce) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = load_plugin(fixture("fixture_two_faces")).at(0);
  const Variant again = load_plugin(fixture("fixture_two_faces")).at(0);
  EXPECT_EQ(again.limits.max_V, v.limits.max_V);
  Trial t(2, 33);
  EXPECT_EQ(t.run(v).fault, "");
  EXPECT_NE(t.run(again).fault.find("says something else of itself when it is loaded again"),
            std::string::npos);
  v.launcher->restart();
  const LaunchOutcome outcome = t.run(v);
  EXPECT_EQ(outcome.ended, Ended::fault);
  EXPECT_NE(outcome.fault.find("says something else of itself"), std::string::npos) << outcome.fault;
  const Variant right = load_plugin(fixture("fixture_right")).at(0);
  right.launcher->restart();
  EXPECT_EQ(t.run(right).fault, "");
}

TEST(Plugin, WhatTheAuthorDeclaresCounts) {
  ASSAY_NEEDS_FIXTURES();
  const Variant v = load_plugin(fixture("fixture_declared")).at(0);
  EXPECT_TRUE(v.declared);
  EXPECT_EQ(v.limits.max_V, 65536);
  EXPECT_EQ(v.claim.height(1000), 1000);
  const std::string path = fixture("fixture_bad_declaration");
  const std::string why = refusal_of_plugin(path);
  EXPECT_TRUE(why.starts_with(path + ": variant 'c99_softmax': ")) << why;
  EXPECT_NE(why.find("hight"), std::string::npos) << why;
}

TEST(Plugin, EveryMalformedOneIsRefusedInOneLine) {
  ASSAY_NEEDS_FIXTURES();
  const std::pair<const char*, const char*> all[] = {
    {"aborts", "crashed while it was loaded: aborted: \"library: no licence found\""},
    {"leaves", "crashed while it was loaded: exited with status 0"},
    {"no_symbol", "has no symbol assay_plugin_entry (see kernels/plugin.h)"},
    {"null_entry", "assay_plugin_entry() returned NULL"},
    {"newer", "speaks version 2 of the ABI, this assay speaks 1"},
    {"small_plugin", "assay_plugin.struct_size is 8, version 1 has 24"},
    {"small_variant", "variant 0 has struct_size 16, not 56 to 72"},
    {"no_variants", "has no variants"},
    {"bad_name", "variant 0 is called 'my softmax': names are letters, digits, '_' and '-'"},
    {"bad_dtype", "variant 0 ('c99_softmax') has dtype 'fp8': known are f16, bf16, f32, f64"},
    {"bad_op", "variant 0 ('c99_softmax') has op 77, which plugin.h does not list"},
    {"bad_device", "variant 0 ('c99_softmax') has device_type 13: known are 1 (host) and 2 (CUDA)"},
    {"no_run", "variant 0 ('c99_softmax') has no run function"},
    {"twice", "two variants are called c99_softmax/f32"},
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    {"wild_pointer",
     "crashed while it was loaded: segmentation fault: a read at address 0x10, near a null pointer"},
#endif
  };
  for (const auto& [name, words] : all) {
    const std::string path = fixture(std::string("fixture_") + name);
    EXPECT_EQ(refusal_of_plugin(path), path + ": " + words);
  }
  EXPECT_EQ(refusal_of_plugin(fixture("fixture_hangs"), 0.3),
            fixture("fixture_hangs") + ": hung while it was loaded: nothing came back within 0.3 s");
}

TEST(Plugin, FilesThatAreNoSharedObjects) {
  EXPECT_EQ(refusal_of_plugin("/nowhere/x.so"), "/nowhere/x.so: no such file");
  EXPECT_EQ(refusal_of_plugin("/tmp"), "/tmp: not a file");
  const TestFolder folder;
  const std::string path = folder.path() / "not_an_elf.so";
  std::ofstream(path) << "not a shared object, but long enough to be looked at: " << std::string(4096, '.');
  const std::string why = refusal_of_plugin(path);
  EXPECT_TRUE(why.starts_with(path + ": can not be loaded: ")) << why;
  EXPECT_NE(why.find("invalid ELF header"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos) << why;
}

}  // namespace
}  // namespace assay::isolation
