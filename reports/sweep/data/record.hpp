// SPDX-License-Identifier: Apache-2.0
// The facts of speed, one JSON line each: a configuration of the sweep, rows split over GPUs, and counts of
// accesses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/ops.hpp"
#include "reports/records/store.hpp"

namespace assay {

/// What every kind of timing has. The names in JSON are the members' names. V: row length. Times are in
/// microseconds, of one launch. A value that was not measured or is not known is null.
struct TimedFact : CaseShape {
  std::string key;  // variant/dtype@backend; ceilings: copy@cuda, memcpy@cuda, read@cuda, empty@cuda
  std::string dtype;
  /// In files: measured, unsupported, not_run, failed, or once.
  Status status = Status::not_run;
  bool once = false;   // a single sample, because the launch takes too long or needs too much memory
  std::string reason;  // empty if measured

  std::int64_t samples = 0;
  std::vector<double> times_us;  // at most 30
  std::optional<double> median_us, p10_us, p90_us;
  std::optional<double> ci_low_us, ci_high_us;  // 95 % interval of the median
  std::string cold;                             // a sentence: how the caches were kept cold

  /// pass, fail, or unsupported (in files: not_judged); before, while and after it was timed. Also fail: the
  /// time contradicts the machine's own times, or the clock of this process.
  Status verified = Status::unsupported;
  std::string verified_reason;
  std::int64_t verified_elements = 0;
  std::optional<double> max_ulp, max_utilisation;

  std::string family;
  std::uint64_t seed = 0;
  std::string gpu;  // or the CPU of a host record
  std::string driver, cuda, compiler, flags, commit;
  std::string reproduce;

  bool timed() const { return status == Status::pass; }
};
inline Status outcome(const TimedFact& f) { return f.status; }
/// "measured", "once", "failed", ...: the status as files have it.
const char* status_word(const TimedFact& f);
/// Of `verified`.
inline constexpr std::array kVerifiedWords = {"pass", "fail", kNoWord, "not_judged"};
inline const char* judged_word(Status s) { return kVerifiedWords[static_cast<std::size_t>(s)]; }

/// One configuration of the sweep: what ran, how long it took, how fast the machine copies and reads as many
/// bytes, whether the outputs were right, and the command that repeats it.
struct SweepRecord : TimedFact {
  static constexpr FactKind kKind = {"sweep", "assay sweep"};

  std::string role = "variant";  // variant, peer, ceiling
  std::string backend;           // cuda, host: where it ran
  std::string op;                // an Op's name, or copy, memcpy, read, empty
  std::int64_t launches_per_sample = 0;

  std::int64_t bytes = 0;                            // the minimum: reads each logit, writes each output
  std::optional<int> claimed_loads, claimed_stores;  // accesses per element that the variant claims
  /// Measured in the same run: the fastest device copy that moves `bytes` in total, a pass that reads as
  /// many, and an empty launch.
  std::optional<double> copy_us, read_us, empty_us;
  /// The shortest time in which this machine moved `bytes`, in any way that was tried: copies, and reads too
  /// where a launch writes fewer bytes than it reads. Launches that overlap as much as they can are among
  /// them.
  std::optional<double> fastest_us;
  std::optional<double> share_of_copy, share_of_read;
  std::optional<double> gb_per_s, share_of_datasheet;
  /// The number of accesses per element that would take the same time at the speed of the copy.
  std::optional<double> accesses_at_copy_speed;

  std::int64_t distinct_rows = 0;  // these are repeated to fill `rows`
  std::optional<double> sm_clock_mhz, mem_clock_mhz, sm_clock_now_mhz;
};

inline const std::string& op_of(const SweepRecord& r) { return r.op; }
/// The name of the configuration, such as "online_block/f32@cuda V=4032 rows=4000". k, family and seed are
/// added if they differ from 0, normal_1 and 1. Two records with the same name are of the same configuration.
std::string identity(const SweepRecord& r);

/// True for log-sum-exp and top-k: they write almost nothing, so their ceiling is a read, not a copy.
bool reads_only(const SweepRecord& r);
/// True if a launch writes fewer bytes than it reads.
bool writes_less(const SweepRecord& r);

/// No kernel is this many times as fast as the fastest way in which the machine moves as many bytes. Of the
/// 18,811 published times of kernels that write what they read, on an H100 and an H200, the largest share of
/// a copy is 1.016. The rest is for the noise of two medians.
inline constexpr double kMostShare = 1.02;
/// The kernel's speed as a share of that way's. Of a record that lacks its time, of the copy's (where fewer
/// bytes are written than read, of the faster of copy and read). Empty if nothing was measured.
std::optional<double> share_of_fastest(const SweepRecord& r);
/// Empty, or why such a share is none of a kernel: "its speed is 228 times that of the fastest copy ...".
std::string beyond_reach(const std::optional<double>& share);
/// The same of a record. A ceiling is beyond nothing.
std::string beyond_reach(const SweepRecord& r);

/// Those of sweep.jsonl and peers.jsonl of the folder, if they exist. Throws InputError that names the file.
std::vector<SweepRecord> records_of_folder(const std::filesystem::path& folder);

/// What stands behind a kernel's name: ", k = 5", ", threshold 0.9"; empty if the op has neither.
std::string behind_name(std::string_view op, const Pick& pick);

/// One GPU's part. Times are medians in microseconds.
struct SplitShare {
  int device = 0;
  std::int64_t first = 0, columns = 0;  // its slice of every row
  std::optional<double> median_us;      // of the split run
  /// In the same run: onepass on the slice's rows alone, and the fastest copy of as many bytes. Null for an
  /// empty slice.
  std::optional<double> alone_us, copy_us;
  std::optional<double> share_of_alone, share_of_copy;
};

/// Rows split over several GPUs: how long each took, beside what it takes alone for its slice and beside its
/// copy. V: row length, of all GPUs together. times_us are each of the slowest GPU.
struct SplitRecord : TimedFact {
  static constexpr FactKind kKind = {"split", "assay sweep split"};

  std::string alone_key;  // onepass_fast/f32@cuda: the kernel of alone_us
  int gpus = 0;
  std::string exchange;  // nccl, peers, held
  std::int64_t chunk_rows = 0;
  int depth = 0;  // chunks under way
  int teams = 1;  // of NCCL, that gather in turn
  bool graph = true, keep = true;
  std::vector<SplitShare> shares;  // one a GPU
  std::string nccl;
};

/// The smallest share of alone_us over the GPUs; null if none is known.
std::optional<double> least_share(const SplitRecord& r);

/// "onepass_split_fast/f32@cuda V=262144 rows=4000 gpus=2 nccl 24x3". Two records with one name are of one
/// configuration.
std::string identity(const SplitRecord& r);

/// What a kernel really loads and stores: one line per key, shape and source of the counts. The counters of
/// the host executor are exact. Those of a GPU show what reached its L2 and its memory, and what limited the
/// kernel. A value "in elements" is bytes / (rows * V * size of a logit), so 1 means one access of every
/// logit. What the source cannot count is null.
struct AccessRecord : CaseShape {
  static constexpr FactKind kKind = {"accesses", "assay sweep accesses"};

  std::string key;                                   // variant/dtype@backend
  std::optional<int> claimed_loads, claimed_stores;  // accesses per element that the variant claims
  std::string source;                                // "host counters" or "ncu"

  /// Elements loaded and stored from logits, outputs and workspace, per element of the row.
  std::optional<double> loads, stores;
  /// In elements: the traffic of the memory and of the L2.
  std::optional<double> dram_read, dram_write, l2_read, l2_write;

  std::optional<double> registers;            // per thread
  std::optional<double> local_bytes;          // read and written in local memory, per element of the row
  std::optional<double> occupancy;            // achieved, 0 to 1
  std::optional<double> sectors_per_request;  // of global loads: 4 for 32 neighbouring floats, 32 at worst
  std::optional<double> instructions_per_element;
  std::optional<double> issue_share, dram_share;  // shares of the peak, 0 to 1
  std::optional<double> time_us;                  // of all launches, measured with counters on
  std::optional<int> kernels;                     // number of launches
  std::string gpu;
};

/// The op of the variant, which may be of another backend than this build has.
std::string op_of(const AccessRecord& r);
/// A new count replaces an old one of the same key, shape and source.
std::string identity(const AccessRecord& r);
/// A count has no verdict.
inline Status outcome(const AccessRecord&) { return Status::pass; }

ASSAY_FACTS(extern, SweepRecord);
ASSAY_FACTS(extern, SplitRecord);
ASSAY_FACTS(extern, AccessRecord);

}  // namespace assay
