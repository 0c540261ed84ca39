// SPDX-License-Identifier: Apache-2.0
// The pages' sections, one function each. Only pages include this.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "reports/data/digest.hpp"
#include "reports/data/report_data.hpp"
#include "reports/page/page.hpp"
#include "reports/page/svg.hpp"

namespace assay::page {

/// What the folder holds of speeds, by kernel and by peer. `in_folder` must outlive it.
struct Timed {
  explicit Timed(const InFolder& in_folder);
  std::map<std::pair<std::string, std::string>, std::vector<const SweepRecord*>> of;  // by variant, dtype
  std::map<std::string, std::vector<const AccessRecord*>> accesses;                   // by variant
  /// A timed shape: op, dtype, family, rows, V, k or threshold.
  using Shape = std::tuple<std::string, std::string, std::string, std::int64_t, std::int64_t, Pick>;
  /// The errors of each peer, by op and dtype, at the shapes at which every row of it was judged, or one is
  /// wrong.
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::map<Shape, double>>> peers;
  /// The number of rows at which most of the long rows (kLongRow) were timed; 0 if there are none.
  std::int64_t usual_rows = 0;
};
/// From this V on, the time of a launch is that of moving its bytes.
inline constexpr std::int64_t kLongRow = 1000;

// What all sections need, computed once: of a whole report, or of one kernel of it.
struct Context : RunSummary {
  const Timed& timed;
  std::string main_backend = {};                    // the first that ran; the page shows it unfolded
  std::map<std::string, std::string> page_of = {};  // of a variant: its page, as seen from index.html
};

// Of index.html.
Frame overview(const Context& c);            // verdict, contract, failures
std::string what_ran(const Context& c);      // counts, what was not judged and why
std::string kernel_table(const Context& c);  // a row per kernel
std::string how_to_read();
// Of compare.html: all kernels side by side.
std::string variants_by_dtype(const Context& c);  // a matrix; every key with its claim
std::string families(const Context& c);
std::string utilisation(const Context& c);        // error/bound by key and family, by class and check
std::string oracle_speed(const Context& c);       // elements judged per second, by tier
std::string functions(const FunctionsReport& r);  // building blocks
// Of a kernel's page, and some of compare.html too.
Frame kernel_overview(const Context& c);          // verdict, contract, failures
std::string accuracy(const Context& c);           // a row per key, peers beside it
std::string conformance(const Context& c);        // groups of cases; what failing cases share
std::string error_by_distance(const Context& c);  // ulp against |x - m|
std::string error_by_size(const Context& c);      // error against V
std::string signed_errors(const Context& c);      // histograms
std::string special_values(const Context& c);
std::string domain(const Context& c);  // rows that were not judged; "" if there are none
std::string worst_cases(const Context& c);
std::string resolution(const Context& c);  // the smallest refused error, by key and row length
std::string behaviour(const Context& c);   // what a key claims and behaves like, with evidence
std::string accesses(const Context& c);    // claimed and counted
std::string speed(const Context& c);       // share of the copy, by dtype and V

/// What failed, by key and check, with the command that repeats it. "" if nothing did.
std::string failures(const Context& c);

/// What the failing cases of a key have in common, and what is its likely cause: at most `most` findings. The
/// key is named if it is not "". "" if there are none.
std::string findings_list(const std::string& key, const KeyConformance& of, std::size_t most);

/// The speed of one kernel at one dtype, over the long rows that were timed with usual_rows rows. Row lengths
/// that were timed at some of the kernel's dtypes only are left out, so that its dtypes can be compared.
struct Share {
  double median = 0, least = 0, most = 0;  // of the speed of the copy
  std::size_t shapes = 0;
};
std::optional<Share> share_of_copy(const Context& c, const std::string& variant, const std::string& dtype);
/// The largest errors in ulp of a kernel and of a peer, for the same inputs at the shapes at which all of
/// both was judged.
struct BesidePeer {
  double own = 0, peer = 0;
  std::size_t shapes = 0;
};
std::optional<BesidePeer> beside_peer(const Context& c, const KeyInfo& key, const std::string& peer);

/// The beginning of a table, up to its first row. A heading that starts with '#' is for a column of numbers.
std::string open_table(const std::vector<const char*>& headings);
// Cells of tables. Each holds the value that it is sorted by; absent values sort last.
std::string number_cell(std::optional<double> v, const std::string& note = "");
std::string count_cell(std::int64_t v);
std::string extreme_cell(const Extreme& e, bool where);
std::string ratio_cell(const Extreme& e, bool where);
std::string command(std::string_view text);
/// `word`: what it is called here, if that is not its name.
std::string status_word(Status s, const char* word = nullptr);
std::string status_word(Verdict v);
std::string scroll(const std::string& table);
/// The content for the main backend, and below it, folded, the content for each other backend.
std::string per_backend(const Context& c, std::string (*content)(const Context&, const std::string& backend));
/// The variant's name, as a link to its page where it has one.
std::string variant_link(const Context& c, const std::string& variant);

// A dtype has the same colour and marker on the whole page.
std::string dtype_class(std::string_view dtype);
Marker dtype_marker(std::string_view dtype);
std::string dtype_legend(const Context& c, const std::string& extra);

}  // namespace assay::page
