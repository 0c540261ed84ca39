// Adding a variant is adding a file: what is registered must be exactly what stands in kernels/variants/.
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
  for (const auto& e : fs::directory_iterator(folder)) files.insert(e.path().stem().string());
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

TEST(Registry, EveryVariantHasItsDtypes) {
  std::map<std::string, std::set<Dtype>> dtypes;
  for (const Variant& v : registry()) dtypes[v.variant + "@" + name(v.backend)].insert(v.dtype);
  for (const auto& [variant, have] : dtypes) {
    const bool narrow = variant.starts_with("safe_block_half");
    EXPECT_EQ(have, narrow ? (std::set<Dtype>{Dtype::f16, Dtype::bf16})
                           : (std::set<Dtype>{Dtype::f16, Dtype::bf16, Dtype::f32}))
        << variant;
  }
}

TEST(Registry, ClaimsAreComplete) {
  for (const Variant& v : registry()) {
    EXPECT_TRUE(v.run) << v.key();
    EXPECT_GE(v.claim.loads, 1) << v.key();
    if (v.op == Op::topk) {
      EXPECT_EQ(v.claim.select, Select::logits) << v.key();
    } else {
      ASSERT_TRUE(v.claim.height) << v.key();
      EXPECT_GE(v.claim.height(1), 0) << v.key();
      EXPECT_GE(v.claim.height(100000), v.claim.height(1000)) << v.key();
    }
    EXPECT_EQ(selects(v.op), v.max_k == 64) << v.key();
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
