// SPDX-License-Identifier: Apache-2.0
// The schemas of records.jsonl and certificate.json: real records and certificates obey them, and the file in
// the repository is what the fields of records make.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What is wrong with a value by a schema; empty if nothing is. Knows the words that records_schema uses, and
/// fails for any other.
std::string fault(const json& schema, const json& value, const std::string& at = "record") {
  for (const auto& [word, rest] : schema.items()) {
    if (word == "$schema" || word == "title" || word == "description") continue;
    if (word == "type") {
      const bool right = rest == "object"    ? value.is_object()
                         : rest == "array"   ? value.is_array()
                         : rest == "string"  ? value.is_string()
                         : rest == "boolean" ? value.is_boolean()
                         : rest == "null"    ? value.is_null()
                         : rest == "integer" ? value.is_number_integer()
                         : rest == "number"  ? value.is_number()
                                             : false;
      if (!right) return at + ": is no " + rest.get<std::string>();
    } else if (word == "enum") {
      if (std::find(rest.begin(), rest.end(), value) == rest.end()) return at + ": is none of the words";
    } else if (word == "const") {
      if (value != rest) return at + ": is not " + rest.dump();
    } else if (word == "minimum") {
      if (value < rest) return at + ": is below the minimum";
    } else if (word == "anyOf") {
      if (std::none_of(rest.begin(), rest.end(), [&](const json& s) { return fault(s, value, at).empty(); }))
        return at + ": is none of several";
    } else if (word == "required") {
      for (const auto& name : rest)
        if (!value.contains(name)) return at + ": lacks " + name.get<std::string>();
    } else if (word == "properties") {
      for (const auto& [name, inner] : value.items())
        if (rest.contains(name))
          if (std::string f = fault(rest[name], inner, at + "." + name); !f.empty()) return f;
    } else if (word == "additionalProperties") {
      for (const auto& [name, inner] : value.items()) {
        if (schema.contains("properties") && schema["properties"].contains(name)) continue;
        if (rest == false) return at + ": has " + name;
        if (std::string f = fault(rest, inner, at + "." + name); !f.empty()) return f;
      }
    } else if (word == "propertyNames") {
      for (const auto& [name, inner] : value.items())
        if (std::string f = fault(rest, name, at + "." + name); !f.empty()) return f;
    } else if (word == "items") {
      for (const auto& one : value)
        if (std::string f = fault(rest, one, at + "[]"); !f.empty()) return f;
    } else if (word == "minItems" || word == "maxItems") {
      if (word == "minItems" ? value.size() < rest : value.size() > rest) return at + ": has another length";
    } else {
      return at + ": the schema has the word " + word;
    }
  }
  return {};
}

fs::path schema_file() { return fs::path(ASSAY_SOURCE_DIR) / "reports/data/records.schema.json"; }

TEST(RecordsSchema, TheFileIsWhatTheFieldsMake) {
  if (!fs::exists(ASSAY_SOURCE_DIR)) GTEST_SKIP() << "no source tree beside this binary";
  const command_test::Outcome o = command_test::call("assay schema");
  EXPECT_EQ(o.status, kPassed);
  EXPECT_EQ(o.out, read_file(schema_file()))
      << "a field of a record has changed: assay schema > reports/data/records.schema.json";
}

class RecordsOfRuns : public command_test::FolderTest {
 protected:
  std::vector<json> run(const std::string& line) {
    command_test::call("assay " + line + " --out " + folder_.string());
    std::istringstream text(read_file(folder_ / "records.jsonl"));
    std::vector<json> all;
    for (std::string one; std::getline(text, one);) all.push_back(json::parse(one));
    return all;
  }
  const fs::path folder_ = own_.path();
};

TEST_F(RecordsOfRuns, ObeyTheSchema) {
  const json schema = records_schema();
  std::size_t seen = 0;
  for (const char* line : {"report --key safe_block/f32@host --key online_topk_block/f16@host --V 33 --V 0",
                           "report --key online_block/f32@host --family probe",
                           "check mutant.no_max/f32@host --quick --only shapes --V 33",
                           "check safe_block/bf16@host --quick --only repeat --only layout"}) {
    const std::vector<json> all = run(line);
    ASSERT_FALSE(all.empty()) << line;
    for (const json& r : all) ASSERT_EQ(fault(schema, r), "") << r.dump();
    EXPECT_TRUE(all[0].contains("run")) << line;
    seen += all.size();
  }
  EXPECT_GT(seen, 100u);
}

TEST_F(RecordsOfRuns, CertificatesObeyTheirSchema) {
  const json schema = json::parse(command_test::call("assay schema --certificate").out);
  json last;
  for (const char* kernel : {"safe_block/f32@host", "mutant.no_max/f32@host"}) {
    command_test::call(std::string("assay adopt ") + kernel +
                       " --quick --only batch --only shapes --evaluations 32 --out " + folder_.string());
    last = json::parse(read_file(folder_ / "certificate.json"));
    ASSERT_EQ(fault(schema, last, "certificate"), "") << kernel;
  }
  last.erase("verdict");
  EXPECT_EQ(fault(schema, last, "certificate"), "certificate: lacks verdict");
}

TEST_F(RecordsOfRuns, AnotherRecordIsRefusedBySchema) {
  const json schema = records_schema(),
             good = run("report --key safe_block/f32@host --family normal_1 --V 33")[0];
  ASSERT_EQ(fault(schema, good), "");
  const auto changed = [&](auto change) {
    json bad = good;
    change(bad);
    return fault(schema, bad);
  };
  EXPECT_EQ(changed([](json& j) { j.erase("status"); }), "record: lacks status");
  EXPECT_EQ(changed([](json& j) { j["status"] = "passed"; }), "record.status: is none of the words");
  EXPECT_EQ(changed([](json& j) { j["V"] = "33"; }), "record.V: is no integer");
  EXPECT_EQ(changed([](json& j) { j["seed"] = -1; }), "record.seed: is below the minimum");
  EXPECT_EQ(changed([](json& j) { j["extra"] = 1; }), "record: has extra");
  EXPECT_EQ(changed([](json& j) { j["run"].erase("commit"); }), "record.run: lacks commit");
  EXPECT_EQ(changed([](json& j) { j["run"]["version"] = kRecordsVersion + 1; }),
            "record.run.version: is not " + std::to_string(kRecordsVersion));
  EXPECT_EQ(changed([](json& j) { j.erase("run"); }), "") << "older files have no run";
  EXPECT_EQ(changed([](json& j) { j["max_ulp"] = "big"; }), "record.max_ulp: is none of several");
  EXPECT_EQ(changed([](json& j) { j["checks"]["elements"] = j["checks"]["element"]; }),
            "record.checks.elements: is none of the words");
}

}  // namespace
}  // namespace assay
