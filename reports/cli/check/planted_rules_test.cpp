// SPDX-License-Identifier: Apache-2.0
// Planted faults, each with the rule that its first finding must name: twenty of the self-test, and twenty
// files as users would write them (kernels/adapter/faults). A wrong diagnosis costs its reader a day.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "accuracy/conformance/conformance.hpp"
#include "accuracy/conformance/diagnosis/diagnosis.hpp"
#include "kernels/mutants/mutants.hpp"
#include "reports/cli/check/groups.hpp"
#include "reports/data/conformance_text.hpp"
#include "reports/targets/candidates.hpp"

namespace assay {
namespace {

using namespace conformance;

struct Planted {
  const char* fault;
  std::vector<const char*> words;  // the first line must contain these
  std::vector<const char*> groups = {"families", "shapes", "rows", "layout", "batch"};
  // Rules show in short rows, and long rows take most of the time.
  std::int64_t most_elements = 6'200;
};

/// The first line of the diagnosis, with a mark for each word that is missing.
std::string first_line(const std::vector<Record>& records) {
  const auto found = diagnose(records);
  return found.empty() ? "nothing found" : finding_line(found[0]);
}

class Score {
 public:
  void take(const Planted& p, const std::vector<Record>& records) {
    const std::string line = first_line(records);
    std::string missing;
    for (const char* word : p.words)
      if (line.find(word) == std::string::npos) missing += fmt::format(" [{}]", word);
    ++all_;
    if (missing.empty()) return;
    ++wrong_;
    misses_ += fmt::format("{}: {}\n    without{}\n", p.fault, line, missing);
  }
  void print() const { fmt::print("{} of {} first lines name the rule\n{}", all_ - wrong_, all_, misses_); }
  int all() const { return all_; }
  int wrong() const { return wrong_; }
  const std::string& misses() const { return misses_; }

 private:
  int all_ = 0, wrong_ = 0;
  std::string misses_;
};

ConformanceResult check(const Variant& v, const std::vector<const char*>& groups,
                        std::int64_t most_elements) {
  ConformanceOptions o;
  o.extent = Extent::quick;
  o.most_elements = most_elements;
  o.only.assign(groups.begin(), groups.end());
  o.more = {races_group()};
  o.threads = 1;
  return run_conformance([&] { return v; }, o);
}

const Planted kOfTheSelfTest[] = {
    {"no_max", {"no maximum is subtracted"}},
    {"no_max_in_vectors", {"no multiple of 4", "the tail of a vectorised loop"}},
    {"max_from_flt_min", {"row whose maximum is -", "does not start at -inf"}},
    {"max_from_minus_1e4", {"row whose maximum is -", "does not start at -inf"}},
    {"max_from_minus_flt_max", {"nothing above the lowest number", "stands in for -inf"}},
    {"max_of_even_vectors", {"a wrong maximum"}},
    {"sum_skips_tail", {"no multiple of 4", "the tail of a vectorised loop"}},
    {"tail_counted_twice", {"V % 4 = 0", "the vectorised path"}},
    {"stores_whole_vectors", {"no multiple of 4", "writes beyond V"}},
    {"out_pitch_ignored", {"pitch", "the output pitch is ignored"}},
    {"partial_warp_lost", {"V from 142 to 511"}},
    {"threshold_off_by_one", {"V = 1024"}},
    {"long_path_unreachable", {"every V from 4097 on"}},
    {"maximum_of_block", {"rows or more"}},
    {"order_of_batch", {"depends on the other rows of its batch"}},
    {"early_write", {"case in_place", "written over"}},
    {"infinity_wins", {"+inf"}},
    {"nan_stays_alone", {"NaN"}},
    {"flushes_outputs", {"would pass with ftz=yes"}},
    {"order_of_arrival", {"depends on the order of threads"}, {"families", "schedules"}},
};

TEST(PlantedRules, OfTheSelfTestAreNamedFirst) {
  Score score;
  for (const Planted& p : kOfTheSelfTest) {
    const Mutant* const m = find_mutant_of(p.fault);
    ASSERT_NE(m, nullptr) << p.fault;
    // An external kernel returns no (m, d).
    Variant v = m->variant;
    v.writes_normalizer = false;
    score.take(p, check(v, p.groups, p.most_elements).records);
  }
  score.print();
  EXPECT_LE(score.wrong(), 2) << score.wrong() << " of " << score.all() << " are told otherwise:\n"
                              << score.misses();
}

const Planted kFiles[] = {
    {"tail_dropped", {"no multiple of 4", "the tail of a vectorised loop"}},
    {"grid_stride", {"every case of 133 rows or more", "more than 132 rows are not provided for"}},
    {"no_maximum", {"no maximum is subtracted"}},
    {"first_tile_maximum", {"comes late", "the maximum is not that of the whole row"}},
    {"missing_rescale", {"V from 257 on", "rescale"}},
    {"last_column", {"): likely one element is left out of the sum of every row", "V - 1; seen in"}},
    {"last_column_f16", {"): likely one element is left out of the sum of every row", "V - 1; seen in"}},
    {"last_column_log_softmax",
     {"): likely one element is left out of the sum of every row", "V - 1; seen in"}},
    {"first_column_twice", {"): likely the sum of every row has one term too many", "V + 1; seen in"}},
    {"rows_of_a_block", {"rows are no multiple of 4", "the last rows of a block"}},
    {"power_of_two", {"V that is a power of two", "off-by-one"}},
    {"padded_vocabulary", {"shapes", "first: V = 32000"}, {"shapes"}, 0},
    {"unwritten_shared", {"V up to 255"}},
    {"writes_beyond", {"no multiple of 4", "writes beyond V"}},
    {"writes_eight_beyond", {"no multiple of 8", "the tail of a vectorised loop writes beyond V"}},
    {"reads_beyond", {"likely elements beyond the end of a row are read where V is no multiple of 4"}},
    {"half_sum", {"likely the sum is kept in f16: an output of 1 / 2048 for 2049 equal logits"}},
    {"log_of_probability", {"likely the logarithm is taken of a probability that underflowed to 0"}},
    {"alignment", {"off a multiple of 16 bytes", "alignment"}},
    {"endless_loop", {"hang", "V from 4094 on", "never ends"}, {"shapes", "rows"}},
    {"missing_barrier", {"no barrier between them"}, {"shapes", "races"}},
};

TEST(PlantedRules, OfFilesAreNamedFirst) {
  const std::string folder = std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/faults/";
  SourceOptions how;
  how.host = true;
  how.build_dir = (std::filesystem::temp_directory_path() / "assay-planted-rules").string();
  IsolationOptions usual, short_wait;
  short_wait.timeout_seconds = 1;
  // One compilation for all variants. (The race checker runs every variant of its file.)
  std::map<std::string, Variant> by_name;
  for (const char* file : {"all.cu", "missing_barrier.cu"})
    for (SourceCandidate& c : source_candidates(folder + file, how, usual))
      by_name[c.variant.variant] = std::move(c.variant);
  for (SourceCandidate& c : source_candidates(folder + "all.cu#endless_loop", how, short_wait))
    by_name["endless_loop"] = std::move(c.variant);
  EXPECT_EQ(first_line(check(by_name.at("no_fault"), {"families", "shapes", "layout"}, 6'200).records),
            "nothing found");
  Score score;
  for (const Planted& p : kFiles) {
    ASSERT_TRUE(by_name.contains(p.fault)) << p.fault;
    score.take(p, check(by_name.at(p.fault), p.groups, p.most_elements).records);
  }
  score.print();
  EXPECT_LE(score.wrong(), 1) << score.wrong() << " of " << score.all() << " are told otherwise:\n"
                              << score.misses();
}

}  // namespace
}  // namespace assay
