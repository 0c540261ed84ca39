// SPDX-License-Identifier: Apache-2.0
// The report end to end, on a small scale: every key that can run here on every family, the records, the
// commands it prints, and what happens on wrong calls.
#include "reports/runs/report.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/device.hpp"
#include "reference/files/npy.hpp"
#include "reference/files/tensor_file_test.hpp"
#include "reports/cli/command_test.hpp"
#include "reports/data/files.hpp"
#include "reports/data/summary.hpp"
#include "reports/data/worst_case_test.hpp"
#include "reports/records/compare.hpp"
#include "reports/records/record_lines.hpp"
#include "reports/runs/utilisation.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

class ReportFiles : public command_test::FolderTest {
 protected:
  /// The one line of records.jsonl in a folder, without what it says of the run.
  std::string only_record(const char* in) const {
    std::istringstream text(read_file(folder / in / "records.jsonl"));
    std::string line, more;
    std::getline(text, line);
    EXPECT_FALSE(std::getline(text, more)) << more;
    return without_run(line);
  }
  const fs::path folder = own_.path();
};

using command_test::call;
using command_test::Outcome;

ReportData run(Selection s) {
  RunOptions o;
  o.threads = 1;  // ctest already runs two of these at the same time
  return run_report(make_plan(s), s, o);
}
/// One case: a key, a family, a length.
ReportData run_one(const char* key, const char* family, std::int64_t V) {
  Selection s;
  s.keys = {key};
  s.families = {family};
  s.sizes = {V};
  return run(s);
}

void expect_all_pass(const ReportData& data) {
  EXPECT_TRUE(report_passed(data)) << render_summary_terminal(data, "");
  EXPECT_EQ(data.executed, data.planned);
  for (const Record& r : data.records)
    if (r.status != Status::pass && r.status != Status::unsupported && r.status != Status::not_run)
      ADD_FAILURE() << "key " << r.key << ", family " << r.family << ", V " << r.V << ": " << r.reason
                    << "\n  " << r.reproduce;
}

/// Runs the keys of a backend on every family, at sizes on both sides of a warp, a block and a slice.
ReportData expect_backend_passes(const char* keys, std::vector<std::int64_t> sizes) {
  Selection s;
  s.keys = {keys};
  s.sizes = std::move(sizes);
  s.rows = 3;
  ReportData data = run(s);
  expect_all_pass(data);
  expect_within_heads(data);
  return data;
}
TEST(Report, HostKeysPassOnEveryFamilySmallRows) { expect_backend_passes("*@host", {0, 1, 2, 33, 129}); }
/// Also, every bound of every class must come near its limit on some family; otherwise it tests nothing.
TEST(Report, HostKeysPassOnEveryFamilyMediumRows) {
  const ReportData data = expect_backend_passes("*@host", {512, 1025});
  const std::vector<ClassUtilisation> all = class_utilisation(data);
  EXPECT_GT(all.size(), 40u);
  for (const ClassUtilisation& u : all) {
    if (u.hidden) continue;
    EXPECT_GE(u.largest.value, kDefectOfBound) << "defect of the bound: " << u.kind << ", " << u.check;
  }
}
TEST(Report, HostKeysPassOnEveryFamilyLongRows) { expect_backend_passes("*@host", {4099}); }
TEST(Report, ContractedHostKeysPassOnEveryFamily) {
  if (std::string why = unavailable_reason(Backend::host_fma); !why.empty()) GTEST_SKIP() << why;
  expect_backend_passes("*@host_fma", {1, 33, 129});
  expect_backend_passes("*/f32@host_fma", {1025, 4099});  // roundings of 16-bit outputs hide a contraction
}
TEST(Report, CudaKeysPassOnEveryFamily) {
  if (std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  expect_backend_passes("*@cuda", {0, 1, 2, 33, 129, 512, 1025, 4099});
}
TEST(Report, HostKeysPassOnRealLogits) {
  Selection s;
  s.keys = {"*@host"};
  s.families = {"gpt_logits"};
  s.sizes = {32000};
  s.rows = 1;
  const ReportData data = run(s);
  expect_all_pass(data);
  expect_within_heads(data);
  EXPECT_FALSE(data.profiles.empty());
}
TEST(Report, SmallestAndLargestK) {
  for (int k : {1, 7, 64}) {
    Selection s;
    s.keys = {"*topk*@host"};
    s.families = {"normal_1", "ties", "nan", "inf_tile", "clustered_top", "gpt_logits"};
    s.sizes = {1, 63, 1000};
    s.rows = 2;
    s.pick.k = k;
    expect_all_pass(run(s));
  }
}
TEST(Report, NormalizerAlone) {
  Selection s;
  s.keys = {"*@host"};
  s.families = {"normal_10", "all_neg_inf", "inf_thread"};
  s.sizes = {0, 33, 1025};
  s.op = "normalizer";
  const ReportData data = run(s);
  expect_all_pass(data);
}

TEST(Report, NaiveOverflowIsOutsideItsDomainAndShown) {
  const ReportData data = run_one("naive_block/f32@host", "overflow", 129);
  ASSERT_EQ(data.records.size(), 1u);
  EXPECT_EQ(data.records[0].status, Status::unsupported);
  EXPECT_TRUE(data.records[0].reason.starts_with("domain"));
  EXPECT_NE(data.records[0].returned.find("NaN"), std::string::npos) << data.records[0].returned;
}

TEST(Report, KeysThatCannotRunAreVisibleAndNeverAPass) {
  if (!built_with_cuda() || unavailable_reason(Backend::cuda).empty())
    GTEST_SKIP() << "needs a CUDA build and no GPU";
  const ReportData data = run_one("safe_block/f32@cuda", "normal_1", 33);
  ASSERT_EQ(data.records.size(), 1u);
  EXPECT_EQ(data.records[0].status, Status::not_run);
  EXPECT_FALSE(data.records[0].reason.empty());
  EXPECT_FALSE(report_passed(data));
}

TEST_F(ReportFiles, ReproduceLinesReproduce) {
  const Outcome all = call(
      "assay report --key *@host --family normal_1 --family inf_warp --family overflow --family nan --V 33 "
      "--V 1000 --out " +
      (folder / "all").string());
  EXPECT_EQ(all.status, kPassed) << all.err;
  std::vector<std::string> lines;
  std::istringstream text(read_file(folder / "all/records.jsonl"));
  for (std::string l; std::getline(text, l);) lines.push_back(without_run(l));
  ASSERT_GT(lines.size(), 200u);
  for (std::size_t i = 0; i < lines.size(); i += lines.size() / 20) {
    const std::string command = nlohmann::json::parse(lines[i])["reproduce"];
    const Outcome one = call(command + " --out " + (folder / "one").string());
    EXPECT_EQ(one.status == kPassed, nlohmann::json::parse(lines[i])["status"] == "pass")
        << command << one.err;
    EXPECT_EQ(only_record("one"), lines[i]) << command;
    EXPECT_NE(one.out.find(lines[i]), std::string::npos) << "a single record is printed too";
  }
}

TEST_F(ReportFiles, LeavesPageSummaryAndRecords) {
  const Outcome o =
      call("assay report --key safe_block/f16@host --family normal_1 --V 33 --out " + folder.string());
  EXPECT_EQ(o.status, kPassed) << o.err;
  EXPECT_NE(o.out.find("plan: "), std::string::npos);
  EXPECT_NE(o.out.find((folder / "index.html").string()), std::string::npos);
  for (const char* file : {"records.jsonl", "summary.md", "index.html"})
    EXPECT_GT(fs::file_size(folder / file), 100u) << file;
  for (const auto& e : fs::directory_iterator(folder))
    EXPECT_EQ(e.path().string().find(".part"), std::string::npos);
  const Outcome again = call("assay report --key safe_block/f16@host --family normal_1 --V 33 --compare " +
                             (folder / "records.jsonl").string() + " --out " + (folder / "b").string());
  EXPECT_EQ(again.status, kPassed);
  EXPECT_NE(again.out.find("1 records the same, 0 less accurate"), std::string::npos) << again.out;
}

TEST_F(ReportFiles, JudgesOnAnyNpy) {
  Tensor t(Dtype::f32, 3, 50);
  for (int r = 0; r < 3; ++r)
    for (int j = 0; j < 50; ++j) t.set(r, j, 0.1 * r - 0.01 * j * j);
  write_npy(folder / "mine.npy", t);
  const Outcome o = call("assay report --logits " + (folder / "mine.npy").string() +
                         " --key online_*@host --out " + (folder / "o").string());
  EXPECT_EQ(o.status, kPassed) << o.err;
  std::istringstream text(read_file(folder / "o/records.jsonl"));
  std::string first;
  std::getline(text, first);
  const Outcome one = call(nlohmann::json::parse(first)["reproduce"].get<std::string>() + " --out " +
                           (folder / "p").string());
  EXPECT_EQ(only_record("p"), without_run(first));
}

// If only bf16 keys are selected, 16-bit elements that NumPy calls integers are read as bf16. Otherwise the
// error says what to type.
TEST_F(ReportFiles, JudgesOnOneArrayOfAnNpz) {
  const std::string bits = test_files::raw<std::uint16_t>({0x3f80, 0x4000, 0xc000, 0x3f00});
  std::ofstream(folder / "x.npz", std::ios::binary)
      << test_files::zip({{"mine.npy", test_files::npy("<u2", "(2, 2)", bits), 8}, {"b.npy", "never read"}});
  const std::string words = "assay report --logits " + (folder / "x.npz").string() + ":mine --out ";
  const Outcome o = call(words + (folder / "o").string() + " --key safe_block/bf16@host");
  ASSERT_EQ(o.status, kPassed) << o.err;
  const std::string record = only_record("o");
  EXPECT_EQ(nlohmann::json::parse(record)["V"], 2);
  call(nlohmann::json::parse(record)["reproduce"].get<std::string>() + " --out " + (folder / "p").string());
  EXPECT_EQ(only_record("p"), record);
  const Outcome all = call(words + (folder / "q").string());
  EXPECT_EQ(all.status, kBadCall);
  EXPECT_NE(all.err.find("say --dtype bf16"), std::string::npos) << all.err;
}

TEST_F(ReportFiles, ASetOfFilesIsReplacedTogether) {
  write_files({{folder / "a", "1"}, {folder / "b", "1"}});
  fs::create_directory(folder / "c");
  EXPECT_THROW(write_files({{folder / "a", "2"}, {folder / "c", "2"}, {folder / "b", "2"}}), InputError);
  EXPECT_EQ(read_file(folder / "a"), "1");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 3);
}

/// RECORDS.md explains a real record: the command that it quotes must still produce that record.
TEST_F(ReportFiles, RecordsPageQuotesARealRecord) {
  if (!__builtin_cpu_supports("fma")) GTEST_SKIP() << "glibc rounds expf differently without FMA";
  const fs::path page = fs::path(ASSAY_SOURCE_DIR) / "reports/data/RECORDS.md";
  if (!fs::exists(page)) GTEST_SKIP() << "no source tree beside this binary";
  const std::string text = read_file(page);
  const std::size_t begin = text.find("```json\n") + 8;
  std::string quoted = text.substr(begin, text.find("```", begin) - begin);
  const nlohmann::json record = nlohmann::json::parse(quoted);
  const Outcome o = call(record["reproduce"].get<std::string>() + " --out " + folder.string());
  EXPECT_EQ(nlohmann::json::parse(only_record(".")), record) << only_record(".");
}

TEST_F(ReportFiles, ProbesAreRecordsOfTheirOwn) {
  const Outcome o = call("assay report --key online_block*/f32@host --family probe --out " + folder.string());
  EXPECT_EQ(o.status, kPassed) << o.out << o.err;
  std::istringstream text(read_file(folder / "records.jsonl"));
  int records = 0;
  for (std::string line; std::getline(text, line); ++records) {
    const nlohmann::json r = nlohmann::json::parse(line);
    EXPECT_EQ(r["family"], "probe");
    EXPECT_GT(r["checks"]["claim"]["judged"].get<int>(), 1000);
    const bool fast = r["key"] != "online_block/f32@host";  // __expf and exp2_fma
    EXPECT_NE(r["behaves_like"].get<std::string>().find(fast ? "exp by a rounded product" : "exp accurate"),
              std::string::npos);
    EXPECT_GT(r["evidence"].size(), 8u);
    const Outcome again = call(r["reproduce"].get<std::string>() + " --out " + (folder / "again").string());
    EXPECT_EQ(only_record("again"), without_run(line)) << again.err;
  }
  EXPECT_EQ(records, 4);
  // An ordinary record says what its key behaves like.
  call("assay report --key online_block/f32@host --family normal_1 --V 33 --out " + folder.string());
  EXPECT_NE(
      nlohmann::json::parse(read_file(folder / "records.jsonl"))["behaves_like"].get<std::string>().find(
          "shift subtract, "),
      std::string::npos);
}

TEST_F(ReportFiles, UtilisationWritesTheRowsItFound) {
  const std::string line =
      "assay utilisation --key online_block/f1?@host --V 2 --V 33 --evaluations 32 --out ";
  const Outcome o = call(line + (folder / "a").string());
  EXPECT_EQ(o.status, kPassed) << o.out << o.err;
  EXPECT_NE(o.out.find("PASS: 1 keys searched"), std::string::npos) << o.out;
  const nlohmann::json j = nlohmann::json::parse(read_file(folder / "a/utilisation.json"));
  EXPECT_EQ(j["results"].size(), 8u);
  EXPECT_TRUE(j["violations"].empty());
  for (const nlohmann::json& p : j["largest"])
    EXPECT_EQ(p["bits"].get<std::string>().size(), 4 * p["V"].get<std::size_t>());
  EXPECT_NE(read_file(folder / "a/utilisation.md").find("| online, exp accurate"), std::string::npos);
  call(line + (folder / "b").string() + " --threads 2");
  EXPECT_EQ(read_file(folder / "a/utilisation.json"), read_file(folder / "b/utilisation.json"));
}

TEST(Report, ListNamesEveryKey) {
  const Outcome o = call("assay list");
  EXPECT_EQ(o.status, kPassed);
  for (const Variant& v : registry()) EXPECT_NE(o.out.find(v.key()), std::string::npos);
  const Outcome f = call("assay list --families");
  for (const Family& family : all_families()) EXPECT_NE(f.out.find(family.why), std::string::npos);
}

TEST(Report, ThreadsDoNotChangeRecords) {
  Selection s;
  s.keys = {"*_block/f16@host", "online_*/f32@host"};
  s.families = {"normal_10", "spike", "nan"};
  s.sizes = {31, 128, 1023};
  s.rows = 2;
  const Plan plan = make_plan(s);
  const ReportData one = run_report(plan, s, {1, {}, {}, true});
  const ReportData two = run_report(plan, s, {2, {}, {}, true});
  ASSERT_EQ(one.records.size(), two.records.size());
  for (std::size_t i = 0; i < one.records.size(); ++i)
    EXPECT_EQ(to_json(one.records[i]), to_json(two.records[i]));
}

}  // namespace
}  // namespace assay
