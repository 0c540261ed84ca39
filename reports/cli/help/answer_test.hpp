// SPDX-License-Identifier: Apache-2.0
// For tests of --json and --junit: reads JUnit files with a parser that this project did not write, and holds
// the two answers of a command against each other.
#pragma once

#include <gtest/gtest.h>

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "reports/data/files.hpp"

namespace assay::answer_test {

/// What a build server sees in a JUnit file.
struct JunitFile {
  int tests = 0, failures = 0, skipped = 0;              // as the root element says
  int found = 0, found_failures = 0, found_skipped = 0;  // as counted
  std::map<std::string, std::string> failed;             // "classname name" and the text
};

inline JunitFile read_junit(const std::string& xml) {
  std::istringstream in(xml);
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(in, tree);
  const boost::property_tree::ptree& root = tree.get_child("testsuites");
  JunitFile j;
  j.tests = root.get<int>("<xmlattr>.tests");
  j.failures = root.get<int>("<xmlattr>.failures");
  j.skipped = root.get<int>("<xmlattr>.skipped");
  for (const auto& [tag, suite] : root) {
    if (tag != "testsuite") continue;
    int of_suite = 0;
    for (const auto& [inner, one] : suite) {
      if (inner != "testcase") continue;
      ++j.found, ++of_suite;
      j.found_skipped += one.count("skipped") > 0;
      if (const auto failure = one.get_child_optional("failure")) {
        ++j.found_failures;
        j.failed[one.get<std::string>("<xmlattr>.classname") + " " + one.get<std::string>("<xmlattr>.name")] =
            failure->get<std::string>("<xmlattr>.message") + "\n" + failure->data();
      }
    }
    EXPECT_EQ(suite.get<int>("<xmlattr>.tests"), of_suite);
  }
  return j;
}

/// A command's answers by --json and --junit say the same, and what its exit status says.
inline void expect_one_answer(const std::string& command, int status, const nlohmann::json& json,
                              const std::string& junit_file) {
  JunitFile junit = read_junit(read_file(junit_file));
  EXPECT_EQ(json["format"], "assay verdict 1");
  EXPECT_EQ(json["command"], command);
  EXPECT_EQ(json["exit_status"], status);
  EXPECT_FALSE(json["environment"]["assay"].get<std::string>().empty());
  for (const auto& file : json["files"])
    EXPECT_TRUE(std::filesystem::exists(file.get<std::string>())) << file;
  EXPECT_EQ(junit.tests, junit.found);
  EXPECT_EQ(junit.failures, junit.found_failures);
  EXPECT_EQ(junit.skipped, junit.found_skipped);
  // The JUnit file has one more case: the verdict, which fails with the run.
  EXPECT_EQ(junit.failures, static_cast<int>(json["failures"].size()) + (status != 0));
  EXPECT_EQ(junit.failed.count("assay " + command + " verdict"), status != 0);
  int cases = 0, skipped = 0;
  for (const auto& k : json["kernels"]) {
    skipped += k["skipped"].get<int>();
    cases +=
        k["passed"].get<int>() + k["failed"].get<int>() + k["undecided"].get<int>() + k["skipped"].get<int>();
  }
  EXPECT_EQ(junit.found, cases + 1);
  EXPECT_EQ(junit.skipped, skipped);
  if (command == "functions") {
    EXPECT_EQ(json["counts"]["not_run"], junit.skipped);
  }
  for (const auto& failure : json["failures"]) {
    const std::string named = failure["key"].get<std::string>() + " " + failure["case"].get<std::string>();
    EXPECT_EQ(junit.failed.count(named), 1u) << named;
    for (const char* const field : {"reproduce", "message"})
      EXPECT_NE(junit.failed[named].find(failure[field].get<std::string>()), std::string::npos) << named;
  }
  if (std::system("xmllint --version > /dev/null 2>&1") == 0) {
    EXPECT_EQ(std::system(("xmllint --noout '" + junit_file + "'").c_str()), 0);
  }
}

}  // namespace assay::answer_test
