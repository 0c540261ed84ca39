// SPDX-License-Identifier: Apache-2.0
// For tests of assay adopt and assay verify: both are called in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reference/test_folder.hpp"
#include "reports/adopt/certificate.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"

namespace assay::command_test {

class AdoptTest : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return (own_.path() / name).string(); }
  std::string certificate() const { return at("out/certificate.json"); }
  nlohmann::json json() const { return nlohmann::json::parse(read_file(certificate())); }

  /// Calls `assay adopt LINE` with --quick and few cases; other words may narrow or widen it.
  Outcome adopt(const std::string& line) const {
    std::vector<std::string> words = words_of("adopt " + line + " --quick --evaluations 64 --threads 1");
    words.insert(words.end(), {"--out", at("out")});
    return command_test::call_words(words);
  }
  Outcome verify(const std::string& more = "", const std::string& file = "") const {
    std::vector<std::string> words = {"verify", file.empty() ? certificate() : file, "--out", at("verify")};
    for (std::string& w : words_of(more)) words.push_back(std::move(w));
    // The new cases are not those of an adoption with seed 1.
    if (more.find("--seed") == more.npos) words.insert(words.end(), {"--seed", "2"});
    return command_test::call_words(words);
  }
  /// Changes the certificate and gives it the hash of its new contents, as somebody would who wants to
  /// deceive. Its data do not lie beside it, unless `file` is in their folder.
  std::string forged(const std::function<void(nlohmann::json&)>& change,
                     const std::string& file = "forged.json") const {
    nlohmann::json j = json();
    change(j);
    std::ofstream(at(file)) << text_of_members(j);
    return at(file);
  }
  static nlohmann::json step(const nlohmann::json& j, const std::string& name) {
    for (const auto& s : j["steps"])
      if (s["name"] == name) return s;
    return {};
  }
  /// Copies a shared object, which the test may change.
  std::string plugin() const {
    const std::filesystem::path from = std::string(ASSAY_FIXTURES) + "/fixture_declared.so";
    if (!std::filesystem::exists(from)) return "";
    std::filesystem::copy_file(from, at("mine.so"), std::filesystem::copy_options::overwrite_existing);
    return at("mine.so");
  }
  TestFolder own_;
};

}  // namespace assay::command_test
