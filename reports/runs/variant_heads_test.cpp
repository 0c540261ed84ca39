// SPDX-License-Identifier: Apache-2.0
// What the heads of kernels/variants say of their worst cases is true: each is run again, on the host's
// executor.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "accuracy/case/case.hpp"
#include "accuracy/verdict/checker.hpp"
#include "kernels/device.hpp"
#include "reference/error.hpp"
#include "reports/data/files.hpp"
#include "reports/data/worst_case.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
const fs::path kRoot = ASSAY_SOURCE_DIR;

/// The variants of a file, by its path in the project.
std::map<std::string, std::vector<const Variant*>> variants_by_file() {
  std::map<std::string, std::vector<const Variant*>> files;
  for (const Variant& v : registry()) files[v.file].push_back(&v);
  return files;
}

/// Inputs and their truth; variants share worst cases.
const Case& case_of(const WorstCase& w, Dtype dtype) {
  static std::map<std::tuple<std::string, Dtype, std::int64_t, std::int64_t, std::uint64_t>, Case> cases;
  const auto key = std::make_tuple(w.family, dtype, w.V, w.rows, w.seed);
  return cases.try_emplace(key, family_named(w.family), dtype, w.V, w.rows, w.seed).first->second;
}

/// What is wrong with the head of a variant's file, in words and with the line that would be right; empty if
/// nothing is.
std::string wrong_with(std::string_view source, const std::vector<const Variant*>& keys) {
  HeadOfFile head;
  try {
    head = head_of_file(source);
  } catch (const InputError& e) {
    return e.what();
  }
  const Variant& any = *keys.front();
  if (any.op == Op::topk)
    return head.says_none && head.worst.empty() ? ""
                                                : fmt::format("the head needs the line\n{}", kNoWorstCase);
  int on_host = 0;
  for (const WorstCase& w : head.worst) {
    on_host += w.backend == name(Backend::host);
    const Variant* v = find_variant(fmt::format("{}/{}@{}", any.variant, w.dtype, w.backend));
    if (!v && w.backend != name(Backend::cuda)) return "no such key: " + head_line(w);
    if (!v || !unavailable_reason(v->backend).empty()) continue;
    if (!find_family(w.family)) return "no such family: " + head_line(w);
    const std::optional<WorstCase> seen = worst_case_of(check_case(*v, case_of(w, v->dtype), v->op, w.pick));
    if (!seen) return "no error was seen where the head says\n" + head_line(w);
    if (*seen != w) return fmt::format("the head says\n{}\nbut was seen\n{}", head_line(w), head_line(*seen));
  }
  if (on_host != 1 || head.says_none)
    return fmt::format("the head needs one worst case on the host: assay report --key '{}/*' prints it",
                       any.variant);
  return "";
}

TEST(VariantHeads, EachWorstCaseIsSeenAgain) {
  const auto files = variants_by_file();
  std::set<std::string> seen;
  for (const auto& room : fs::directory_iterator(kRoot / "kernels/variants"))
    for (const auto& file : fs::directory_iterator(room.path())) {
      if (file.path().extension() != ".cu") continue;
      const std::string path = fs::relative(file.path(), kRoot).string();
      ASSERT_TRUE(files.contains(path)) << path << " registers nothing";
      EXPECT_EQ(wrong_with(read_file(file.path()), files.at(path)), "") << path;
      seen.insert(path);
    }
  EXPECT_EQ(seen.size(), files.size());
  EXPECT_GE(seen.size(), 40u);
}

TEST(VariantHeads, AWrongHeadIsRefused) {
  const std::string path = "kernels/variants/online/online_warp.cu";
  const std::vector<const Variant*> keys = variants_by_file().at(path);
  const std::string source = read_file(kRoot / path);
  ASSERT_EQ(wrong_with(source, keys), "");
  const WorstCase right = head_of_file(source).worst.front();
  const auto with = [&](auto change) {
    WorstCase w = right;
    change(w);
    std::string text = source;
    return text.replace(text.find(head_line(right)), head_line(right).size(), head_line(w));
  };
  EXPECT_NE(wrong_with(with([](WorstCase& w) { w.ulp *= 1.001; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { w.ulp *= 0.999; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { ++w.column; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { ++w.seed; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { w.family = "no_family"; }), keys), "");
  EXPECT_NE(wrong_with(with([](WorstCase& w) { w.dtype = "f8"; }), keys), "");
  std::string none = source;
  none.replace(none.find(head_line(right)), head_line(right).size(), kNoWorstCase);
  EXPECT_NE(wrong_with(none, keys), "");
  std::string gone = source;
  gone.erase(gone.find(head_line(right)), head_line(right).size() + 1);
  EXPECT_NE(wrong_with(gone, keys), "");
  std::string broken = source;
  broken.insert(broken.find(head_line(right)) + head_line(right).size(), " More.");
  EXPECT_NE(wrong_with(broken, keys), "");
}

}  // namespace
}  // namespace assay
