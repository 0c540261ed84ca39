// SPDX-License-Identifier: Apache-2.0
// Somebody changes one member of a certificate, or one byte of a file beside it. assay verify names the
// member and the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "reference/error.hpp"
#include "reference/hash/sha256.hpp"
#include "reports/adopt/certificate_of.hpp"
#include "reports/adopt/compare_data.hpp"
#include "reports/cli/adopt/adopt_test.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using command_test::Outcome;
using Json = nlohmann::json;

class Forged : public command_test::AdoptTest {
 protected:
  /// What is found of a certificate with these members, whose data lie beside it.
  std::string found(const Json& j) const {
    try {
      std::string lines;
      const ComparedData compared = compare_data(certificate_from_text(text_of_members(j), "c"), at("out"));
      for (const std::string& one : compared.differences) lines += one + "\n";
      return lines;
    } catch (const InputError& e) {
      return e.what();
    }
  }
  /// Changes every member in turn; of a list the first and the last.
  void change_all(Json& whole, const Json::json_pointer& at, const std::string& last_name) {
    Json& here = whole[at];
    const Json before = here;
    if (here.is_object()) {
      for (const auto& [name, value] : before.items()) change_all(whole, at / name, name);
      return;
    }
    if (here.is_array()) {
      if (here.empty()) return;
      change_all(whole, at / 0, last_name);
      whole[at].erase(before.size() - 1);
    } else if (here.is_number()) {
      here = here.get<double>() + 1;
      if (before.is_number_integer()) here = before.get<std::int64_t>() + 1;
    } else if (here.is_boolean()) {
      here = !here.get<bool>();
    } else if (here.is_string()) {
      here = here.get<std::string>() + "x";
    } else {
      here = 0.5;
    }
    const std::string lines = found(whole), path = at.to_string();
    // A hash or a name of a file is told by the file; a word that is none by the reader of certificates.
    const bool named = lines.find(path) != lines.npos || lines.find("field " + last_name) != lines.npos ||
                       (path.starts_with("/data") && lines.find(::testing::TempDir()) != lines.npos);
    EXPECT_TRUE(named || path == "/version" || path == "/format") << path << "\n" << lines;
    EXPECT_NE(lines, "") << path;
    changed_ += 1;
    whole[at] = before;
  }
  int changed_ = 0;
};

TEST_F(Forged, EveryMemberIsNamed) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch --only shapes").status, kPassed);
  Json j = json();
  const Json good = j;
  EXPECT_EQ(found(j), "");
  for (const auto& [name, value] : good.items())
    if (name != "sha256") change_all(j, Json::json_pointer("/" + name), name);
  EXPECT_GT(changed_, 80);
  EXPECT_EQ(found(j), "");
  // As the command says it.
  const Outcome o = verify("", forged([](Json& c) { c["kernels"][0]["max_ulp"] = 0.25; }, "out/forged.json"));
  EXPECT_EQ(o.status, kFailed) << o.out << o.err;
  EXPECT_NE(o.out.find("/kernels/0/max_ulp: the certificate says 0.25, and its data say "), o.out.npos)
      << o.out;
  for (const char* member : {"approved_by", "kernels"}) {
    const Outcome unknown = verify(
        "", forged([&](Json& c) { (member == std::string("kernels") ? c[member][0] : c)["approved"] = 1; }));
    EXPECT_EQ(unknown.status, kBadCall) << unknown.out << unknown.err;
    EXPECT_NE(unknown.err.find("field \"approved\": is no field of a certificate"), unknown.err.npos);
  }
}

TEST_F(Forged, EveryChangedByteIsNamed) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch").status, kPassed);
  const std::string text = read_file(certificate());
  const Certificate c = certificate_from_text(text, "c");
  std::vector<std::string> files = {"certificate.html", "badge.svg", "badge.md"};
  for (const CertifiedData& d : c.data) files.push_back(d.path);
  EXPECT_GT(files.size(), 10u);
  for (const std::string& path : files) {
    const fs::path file = fs::path(at("out")) / path;
    const std::string before = read_file(file);
    std::string after = before;
    if (after.empty()) after = "?";
    after.back() = static_cast<char>(after.back() ^ 1);
    std::ofstream(file, std::ios::binary) << after;
    const ComparedData compared = compare_data(c, at("out"));
    EXPECT_TRUE(std::ranges::any_of(compared.differences, [&](const std::string& one) {
      return one.starts_with(file.string() + ": ");
    })) << path;
    std::ofstream(file, std::ios::binary) << before;
  }
  EXPECT_TRUE(compare_data(c, at("out")).differences.empty());
  // Between the marks of a page's links there may be links alone; a folder behind a link is one that nobody
  // read.
  const auto differs = [&](const fs::path& file) {
    const ComparedData compared = compare_data(c, at("out"));
    return std::ranges::any_of(compared.differences,
                               [&](const std::string& one) { return one.starts_with(file.string() + ": "); });
  };
  const fs::path page = fs::path(at("out")) / "certificate.html",
                 extra = fs::path(at("out")) / "check" / "extra";
  const std::string plain = read_file(page), mark = "<!--pages-->";
  ASSERT_NE(plain.find(mark), plain.npos);
  std::ofstream(page) << std::string(plain).insert(plain.find(mark) + mark.size(),
                                                   "<style>p{display:none}</style>");
  EXPECT_TRUE(differs(page));
  std::ofstream(page) << plain;
  fs::create_directory_symlink(at("out"), extra);
  EXPECT_TRUE(differs(extra));
  fs::remove(extra);
  EXPECT_TRUE(compare_data(c, at("out")).differences.empty());
  // As the command says it, also of its own file and of one more.
  const auto fails = [&](const std::string& words) {
    const Outcome o = verify("--cases 1");
    EXPECT_EQ(o.status, kFailed) << words << "\n" << o.out << o.err;
    EXPECT_NE(o.out.find(words), o.out.npos) << words << "\n" << o.out;
  };
  std::ofstream(certificate(), std::ios::app) << ' ';
  fails("out/certificate.json: it was changed after it was written: other bytes for the same members");
  std::ofstream(certificate()) << text;
  std::ofstream(at("out/check/more.txt")) << "?";
  fails("out/check/more.txt: the certificate does not list it");
  fs::remove(at("out/check/more.txt"));
  std::ofstream(at("out/functions/functions.json"), std::ios::app) << ' ';
  fails("out/functions/functions.json: its SHA-256 is ");
}

/// Whoever changes a file gives the certificate its new hash; the members that are made from it tell.
TEST_F(Forged, AFileWithItsNewHashIsMadeIntoOtherMembers) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch").status, kPassed);
  const Json good = json();
  const auto changed = [&](const std::string& path, const std::string& from, const std::string& to) {
    const std::string file = at("out/" + path), before = read_file(file);
    std::string after = before;
    for (std::size_t i = after.find(from); i != after.npos; i = after.find(from, i + to.size()))
      after.replace(i, from.size(), to);
    EXPECT_NE(after, before) << path;
    std::ofstream(file) << after;
    Json j = good;
    for (auto& d : j["data"])
      if (d["path"] == path) d["sha256"] = sha256_of_file(file);
    const std::string lines = found(j);
    std::ofstream(file) << before;
    return lines;
  };
  const auto names = [](const std::string& lines, const std::string& path) {
    EXPECT_NE(lines.find(path), lines.npos) << lines;
  };
  names(changed("check/records.jsonl", "\"rows_judged\":", "\"rows_judged\":1"), "/kernels/0/rows_judged: ");
  names(changed("check/about.json", "\"planned\":", "\"planned\":1"), "/steps/0/planned: ");
  names(changed("functions/functions.json", "\"pass\"", "\"not_run\""), "/steps/2/executed: ");
  names(changed("facts.json", "\"evaluations\": 64", "\"evaluations\": 65"), "/steps/1/executed: ");
  names(changed("facts.json", "\"used\"", "\"us\xff\""), "it cannot be made again: ");
  names(changed("facts.json", "safe_block/f32@host", "safe_block/f16@host"), "is none of the kernels");
}

TEST_F(Forged, WithoutItsDataItIsOnlyHashed) {
  ASSERT_EQ(adopt("safe_block/f32@host --only batch").status, kPassed);
  const Outcome alone = verify("--cases 1", forged([](Json&) {}));
  EXPECT_EQ(alone.status, kPassed) << alone.out << alone.err;
  EXPECT_NE(alone.out.find("do not lie beside it: it was only hashed"), alone.out.npos) << alone.out;
  fs::remove_all(at("out/fuzz"));
  const Outcome part = verify("--cases 1");
  EXPECT_EQ(part.status, kPassed) << part.out;
  EXPECT_EQ(part.out.find("only hashed"), part.out.npos) << part.out;
  EXPECT_NE(part.out.find("\n  not compared: " + at("out/fuzz/records.jsonl") + " is not there\n"),
            part.out.npos)
      << part.out;
  fs::remove(at("out/check/records.jsonl"));
  EXPECT_NE(verify("--cases 1").out.find("it was only hashed"), std::string::npos);
  // What a certificate says of the kernel is compared with the kernel, and its verdict with the rest.
  const std::pair<const char*, std::function<void(Json&)>> all[] = {
      {"/on_host: the certificate says false, and the kernel says true",
       [](Json& j) { j["kernels"][0]["on_host"] = false; }},
      {"/op: the certificate says \"lse\"", [](Json& j) { j["kernels"][0]["op"] = "lse"; }},
      {"its checks do not have guard, which was made again",
       [](Json& j) {
         std::erase_if(j["kernels"][0]["checks"].get_ref<Json::array_t&>(),
                       [](const Json& c) { return c["name"] == "guard"; });
       }},
      {"a case passed, and its share of a bound is 1.5",
       [](Json& j) { j["cases"][0]["max_bound_ratio"] = 1.5; }},
      {"/kernels/0/verdict: ", [](Json& j) { j["kernels"][0]["failed"] = 1; }},
      {"the certificate has no hash of it", [](Json& j) { j["files"][1]["sha256"] = ""; }},
      {"binary ", [](Json& j) { j["files"] = Json::array(); }},
  };
  for (const auto& [words, change] : all) {
    const Outcome o = verify("--cases 1", forged(change));
    EXPECT_EQ(o.status, kFailed) << words << "\n" << o.out << o.err;
    EXPECT_NE(o.out.find(words), o.out.npos) << words << "\n" << o.out;
  }
  // Another version of this program has other sentences.
  const Outcome older = verify("--cases 1", forged([](Json& j) {
                                 for (auto& f : j["environment"])
                                   if (f["label"] == "assay") f["value"] = "0.0.1";
                                 j["reason"] = "all is well";
                               }));
  EXPECT_EQ(older.status, kPassed) << older.out;
  EXPECT_NE(older.out.find("not compared: sentences, the page and the badge: 0.0.1 wrote them"),
            older.out.npos)
      << older.out;
}

/// A certificate without the hash of a file would be one of every kernel of that name.
TEST_F(Forged, AFileWithoutItsHashIsADifference) {
  const std::string mine = plugin();
  if (mine.empty()) GTEST_SKIP();
  ASSERT_EQ(adopt(mine + " --only batch").status, kPassed);
  for (const char* more : {"--cases 1", "--cases 1 --rebuilt"})
    for (const bool whole : {false, true}) {
      const Outcome o = verify(mine + " " + more, forged([&](Json& j) {
                                 if (whole)
                                   j["files"] = Json::array();
                                 else
                                   j["files"][0]["sha256"] = "";
                               }));
      EXPECT_EQ(o.status, kFailed) << o.out << o.err;
      EXPECT_NE(o.out.find("the certificate has no hash of it"), o.out.npos) << o.out;
    }
}

}  // namespace
}  // namespace assay
