// SPDX-License-Identifier: Apache-2.0
// Adding a variant means adding a file: the registered variants must be exactly the files of
// kernels/variants/.
#include "kernels/registry.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "kernels/device.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST(Registry, HoldsOneVariantPerFileOnEveryBackend) {
  const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / "kernels/variants";
  if (!fs::exists(folder)) GTEST_SKIP() << "no source tree beside this binary";
  std::set<std::string> files;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (e.is_regular_file()) files.insert(e.path().stem().string());
  ASSERT_GE(files.size(), 11u);
  std::map<Backend, std::set<std::string>> registered;
  for (const Variant& v : registry()) {
    registered[v.backend].insert(v.variant);
    EXPECT_EQ(fs::path(v.file).stem().string(), v.variant) << "the file is named after its variant";
    EXPECT_TRUE(v.file.starts_with("kernels/variants/")) << v.file;
  }
  EXPECT_EQ(registered[Backend::host], files);
  EXPECT_EQ(registered[Backend::host_fma], files);
  EXPECT_EQ(registered.contains(Backend::cuda), built_with_cuda());
  if (built_with_cuda()) {
    EXPECT_EQ(registered[Backend::cuda], files);
  }
}

/// Every variant has f16 and f32, unless its arithmetic or its source's vector type excludes one.
TEST(Registry, EveryVariantHasItsDtypes) {
  const std::map<std::string, std::set<Dtype>> narrower = {
      {"safe_block_half", {Dtype::f16, Dtype::bf16}}, {"three_kernel_safe_thread", {Dtype::f16}},
      {"register_float4_warp", {Dtype::f32}},         {"vector_tree_block", {Dtype::f32}},
      {"vector_shuffle_block", {Dtype::f32}},
  };
  std::map<std::string, std::map<Backend, std::set<Dtype>>> dtypes;
  for (const Variant& v : registry()) dtypes[v.variant][v.backend].insert(v.dtype);
  int all_three = 0;
  for (const auto& [variant, on] : dtypes) {
    const auto known = narrower.find(variant);
    for (const auto& [backend, have] : on) {
      EXPECT_EQ(have, on.at(Backend::host)) << variant << "@" << name(backend);
      if (known != narrower.end())
        EXPECT_EQ(have, known->second) << variant;
      else
        EXPECT_TRUE(have.contains(Dtype::f16) && have.contains(Dtype::f32)) << variant;
    }
    all_three += on.at(Backend::host).size() == 3;
  }
  EXPECT_GE(all_three, 17);
}

TEST(Registry, ClaimsAreComplete) {
  for (const Variant& v : registry()) {
    EXPECT_TRUE(v.run) << v.key();
    EXPECT_GE(v.claim.loads(1), 1) << v.key();
    if (v.op == Op::topk) {
      EXPECT_EQ(v.claim.select, Select::logits) << v.key();
    } else {
      ASSERT_TRUE(v.claim.height) << v.key();
      EXPECT_GE(v.claim.height(1), 0) << v.key();
      EXPECT_GE(v.claim.height(100000), v.claim.height(1000)) << v.key();
    }
    EXPECT_EQ(selects(v.op), v.max_k >= 64) << v.key();
    EXPECT_EQ(find_variant(v.key()), &v);
  }
  EXPECT_EQ(find_variant("no_such/f32@host"), nullptr);
}

TEST(Registry, KeysAreUnique) {
  std::set<std::string> keys;
  for (const Variant& v : registry()) EXPECT_TRUE(keys.insert(v.key()).second) << v.key();
}

}  // namespace
}  // namespace assay
