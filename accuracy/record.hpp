// SPDX-License-Identifier: Apache-2.0
// One verdict as one JSON line. A record is complete: what ran, on what, what came out, and the command
// that repeats it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/figures.hpp"
#include "accuracy/setup.hpp"
#include "kernels/candidate.hpp"

namespace assay {

enum class Status { pass, fail, inconclusive, unsupported, not_run, crashed, hung };
const char* name(Status s);

/// What a check looks at. Its name is what a record's JSON says; of a case that fails several, the first is
/// named.
enum class Check {
  launch,      // the launch and the kernel reported no error; no divergence, no bad shuffle (host executor)
  guard,       // bytes before, after and between the rows of every buffer are intact
  inputs,      // the logits are unchanged
  written,     // every output element was written: no poison is left under two poisons
  special,     // -inf, +inf, NaN, V = 0 and V = 1 by the declared policy, position by position
  element,     // every element within its class's a-priori bound
  coherence,   // every element relates to the row's largest by exp of the rounded shift
  row_sum,     // the stored outputs add up to 1
  monotone,    // larger logit, no smaller output; equal logits, equal bits
  range,       // 0 <= p <= 1, no sign bit
  argmax,      // the largest logit has the largest output
  normalizer,  // (m, d): m exact, d within the bound, 1 <= d <= j
  indices,     // top-k: in range, distinct, -1 past the last element
  order,       // top-k: the right elements in the right order
  gather,      // top-k of logits: values are the logits at the indices, bit for bit
  kept,        // min_p, top_p: exactly 0 outside the set, no gap in a set of top_p
  repeat,      // same bits under another schedule, poison and grid
  claim,       // the claim is possible: no sum of V terms is more than V additions high
  late_write,  // no output changed after the stream said that the launch was over
  max_ulp,     // the author's own promise: no element further than --max-ulp from the exact value
  batch,       // the same bits whatever the other rows of the batch are
  property,    // a property of properties/ holds for all the rows that were drawn
  race,        // ThreadSanitizer saw no two threads at one address without a barrier between them
  memcheck,    // the tools of compute-sanitizer had nothing to say
  racecheck,
  initcheck,
  synccheck,
};
inline constexpr int kChecks = static_cast<int>(Check::synccheck) + 1;
/// The checks whose outcome depends on how long the paths of the sum are taken to be.
inline constexpr Check kOfTheSum[] = {Check::element, Check::coherence, Check::row_sum,    Check::monotone,
                                      Check::range,   Check::argmax,    Check::normalizer, Check::kept};
const char* name(Check c);
std::optional<Check> parse_check(std::string_view s);

/// The outcome of one check over all judged rows of a record.
struct CheckResult {
  Check check = Check::launch;
  std::int64_t judged = 0;     // comparisons made
  std::int64_t failed = 0;     // comparisons that proved a violation
  std::int64_t undecided = 0;  // neither proved
  double utilisation = 0;      // largest error/bound seen; 0 where the check is exact
  std::string detail = {};     // the first violation in words: "row 3, column 511: got 0, exact 1.7e-3"
  FaultKind cause = {};        // of a launch that failed, what kind of fault it was
  std::optional<BufferAccess> access = {};  // of a launch that died, where it was in a buffer
  std::optional<std::int64_t> row = {};     // of Check::written, the row of the first violation
  bool of_measurement =
      false;  // the launch that failed measured the sum; the case's own launches did not fail

  /// What the first violation was. Not how often the check was made.
  void take_violation(const CheckResult& from, std::string words) {
    detail = std::move(words);
    cause = from.cause, access = from.access, row = from.row, of_measurement = from.of_measurement;
  }
};

/// Where a record's kernel ran.
enum class Where { in_process, sandbox, not_sandboxed, landlock };

/// Why a case was not judged. Record::reason says it in words, behind the same word and a colon.
enum class Why {
  none,
  coarse,     // the claimed arithmetic lets nearly any output pass
  domain,     // outside what the variant declares, or what its claim promises
  op,         // the variant does not compute this operation
  dtype,      // no bound is known for these types
  k,          // more is to be selected than the variant can
  in_place,   // the variant does not claim it
  memory,     // there was too little memory
  time,       // there was too little time
  not_tried,  // many launches like it ended their process
  probe,      // no probe says anything about this claim
  executor,   // only another executor can do it
  launcher,   // the kernel is launched in a way that can not do it
  stream,     // the kernel takes no stream
  sanitize,   // a tool of compute-sanitizer does not run here
  initcheck,  // that tool can not see these buffers
  races,      // the race checker does not run here
  refused,    // the kernel refused the launch, where that is no fault
  device,     // the device that the kernel needs is not here
  left,       // so many launches of the kernel crashed or hung that the rest was left
};

/// What keeps a case from being judged: its kind, and the whole sentence. Nothing does if `why` is none.
struct Obstacle {
  Why why = Why::none;
  std::string sentence = {};
  explicit operator bool() const { return why != Why::none; }
};
/// "domain: V = 0 is below min_V = 1".
Obstacle obstacle(Why why, std::string_view words);
const char* name(Why w);

/// Whether a failing case fails as the only one of a fresh process, too.
enum class Alone { not_tried, passes, fails };

/// Under which claim the outputs of a failing case would pass (Record::behaves_like says it in words).
enum class Nearest {
  not_looked_for,
  its_own,          // its own: what failed is no arithmetic
  other_class,      // one that promises less
  none,             // none near its own
  beyond_measured,  // a serial sum's, but not that of the sum that was measured
};

/// What one probe saw of a kernel (accuracy/probes). Record::evidence says it in words.
struct ProbeResult {
  std::string probe;         // accumulator, sum_exp, division, ...
  std::string trait = "";    // "sum f16", "exp accurate"; empty if nothing was seen
  bool sharper = false;      // than the claim
  std::int64_t refuted = 0;  // consequences of the claim that do not hold
  std::string sum = "";      // the type in which the sum is kept, where it shows: f16, bf16, f32
  std::string saw = "";      // input and output, in words

  bool operator==(const ProbeResult&) const = default;
};

/// How a launch ended that the kernel does not promise to accept. It is no failure.
enum class Unpromised { not_tried, came_back, fault };

/// The element with the largest ulp error (or, where something failed, the first failing element).
struct WorstElement {
  std::int64_t row = -1;
  std::int64_t column = -1;
  double logit = 0;
  double distance = 0;  // x - m
  double got = 0;
  double exact_lo = 0;
  double exact_hi = 0;
  double ulp_error = 0;    // upper end of its enclosure; infinite for NaN
  double bound_ratio = 0;  // error / bound of the element check
};

/// Of a sweep of row lengths that passed whole. The record that has this is that of its case with the largest
/// error. The cases with the largest of another figure have records of their own, and are not in the sweep.
struct SweptLengths {
  std::int64_t cases = 0;        // with the record's own
  std::int64_t rows_judged = 0;  // in all of them
  std::string lengths;           // their V: "1-4096", "33, 64-70"
  std::string sha256 = "";       // of the lines that their records would have, in order
};

struct Record : Figures, CaseShape {
  std::string key;  // variant/dtype@backend
  std::string variant;
  std::string dtype;
  std::string backend;
  /// sandbox: in a worker that bubblewrap holds; landlock: in one that Landlock and seccomp hold;
  /// not_sandboxed: in a worker that is free to do anything.
  Where where = Where::in_process;
  std::string op;
  std::string family;
  /// Of `assay check`: the group of cases (shapes, layout, ...) and what the case varies ("offset_6"). Empty,
  /// and not in the JSON, in a report.
  std::string group = {};
  Setup setup = {};
  std::uint64_t seed = 0;
  Status status = Status::not_run;
  Why why = Why::none;   // of a record that was not judged
  std::string reason;    // always set unless status is pass
  FaultKind wants = {};  // memory or time, where a case was not judged for want of it
  /// The largest error/bound over element, coherence, row sum and normalizer. Empty where nothing was judged.
  std::optional<double> max_bound_ratio;
  double weak_share = 0;  // share of elements whose bound cannot judge (A >= ln 2)
  /// How small an error this judgement would have refused, of the worst row: relative, of a typical output
  /// and of one common to a whole row (or of its sum). Of logarithms: of what the logarithm was taken of.
  std::optional<double> resolution, resolution_sum;
  std::int64_t rows_judged = 0;
  std::int64_t rows_outside = 0;  // rows outside the declared domain
  /// Of min_p and top_p: judged elements that either set may have, because the claim's errors reach the
  /// threshold.
  std::int64_t open = 0;
  std::int64_t escalated = 0;  // comparisons fp64 enclosures left undecided: MPFR decided the case
  /// The smallest and the largest maximum of the judged rows, where a row has one that is a number; +inf is
  /// one.
  std::optional<double> lowest_maximum, highest_maximum;
  Unpromised unpromised = Unpromised::not_tried;
  std::string returned;  // what came back for special rows and rows outside the domain, in words
  // The class the key's probes say it behaves like; of a failed record, the nearest one it would pass.
  std::string behaves_like;
  Nearest nearest = Nearest::not_looked_for;
  std::optional<std::int64_t> left_out = {};  // a column whose term provably never enters the sum
  Alone alone = Alone::not_tried;
  /// What befell a launch that the kernel need have no part in, of a case that was then made again and has
  /// the status of that; empty otherwise.
  std::string at_first = {};
  std::vector<std::string> evidence;  // what the probes saw (family probe), one sentence each
  std::vector<ProbeResult> probes;    // the same as facts
  std::vector<CheckResult> checks;
  std::optional<WorstElement> worst;
  std::optional<SweptLengths> swept = {};
  std::string reproduce;
  /// 1: what decides is in fields. 0: a file from before that, where some facts are in sentences only.
  int facts = 1;
};

/// The check of a record; null if it was not made.
const CheckResult* find_check(const Record& r, Check check);
/// The first one that failed, in the order of Check; null if none did.
const CheckResult* first_failed(const Record& r);
/// The kind of fault that a failing, crashed or hung record's launch ended with; none if it ended well.
FaultKind cause_of(const Record& r);

/// True for a record whose claimed arithmetic lets pass nearly any output, so that a verdict would say
/// nothing (VERDICT.md, section 1). Its rows may well lie within the kernel's domain.
bool too_coarse(const Record& r);

/// The number of cases that the record is of: 1, or those of its sweep.
inline std::int64_t cases_in(const Record& r) { return r.swept ? r.swept->cases : 1; }
/// Their V, in order.
std::vector<std::int64_t> lengths_in(const Record& r);
/// The same records, but one for each sweep of 1,000 row lengths or more that passed whole. Nothing is left
/// out of the records of a kernel of which any case is wrong or undecided: they tell where it is right.
std::vector<Record> with_swept_lengths(const std::vector<Record>& records);

/// Which case the record is of: "safe_block/f32@host softmax ramp V=33 rows=3 k=0 seed=1 shapes". The same in
/// every run of the case.
std::string identity(const Record& r);

nlohmann::json to_json(const Record& r);
/// The record as a line of a file. Bytes that are no UTF-8, which a kernel may print, are replaced.
std::string record_line(const Record& r);
/// Throws InputError naming the field that is missing or of the wrong type.
Record record_from_json(const nlohmann::json& j);
/// For a record whose `facts` is 0: sets the fields whose facts it has in sentences only. The only place that
/// reads sentences back, because a kernel can write into them.
void read_old_words(Record& r);

}  // namespace assay
