// The page's sections, one function each, in the page's order. Only pages include this.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/data/report_data.hpp"
#include "reports/data/tally.hpp"
#include "reports/page/frame.hpp"
#include "reports/page/svg.hpp"

namespace assay::page {

// What all sections need, computed once.
struct Context {
  const ReportData& data;
  std::vector<KeyTally> keys;
  std::vector<std::string> backends, dtypes, variants;
  std::string main_backend;  // the first that ran; the page shows it unfolded
};

Frame overview(const Context& c);                 // verdict, counts, failures, environment
std::string conformance(const Context& c);        // groups of cases; what failing cases share
std::string variants_by_dtype(const Context& c);  // a matrix; every key with its claim
std::string error_by_distance(const Context& c);  // ulp against |x - m|
std::string error_by_size(const Context& c);      // error against V
std::string signed_errors(const Context& c);      // histograms
std::string special_values(const Context& c);
std::string domain(const Context& c);
std::string worst_cases(const Context& c);
std::string families(const Context& c);
std::string utilisation(const Context& c);        // error/bound by key and family, by class and check
std::string resolution(const Context& c);         // the smallest refused error, by key and row length
std::string behaviour(const Context& c);          // what a key claims and behaves like, with evidence
std::string oracle_speed(const Context& c);       // elements judged per second, by tier
std::string functions(const FunctionsReport& r);  // building blocks
std::string how_to_read();

/// The beginning of a table, up to its first row. A heading that starts with '#' is for a column of numbers.
std::string open_table(const std::vector<const char*>& headings, bool sortable = true);
// Cells of tables. Each holds the value that it is sorted by; absent values sort last.
std::string number_cell(std::optional<double> v, const std::string& note = "");
std::string count_cell(std::int64_t v);
std::string extreme_cell(const Extreme& e, bool where);
std::string ratio_cell(const Extreme& e, bool where);
std::string command(std::string_view text);
std::string status_word(Status s);
std::string scroll(const std::string& table);
/// The content for the main backend, and below it, folded, the content for each other backend.
std::string per_backend(const Context& c, std::string (*content)(const Context&, const std::string& backend));
const KeyTally* find_key(const Context& c, const std::string& variant, const std::string& dtype,
                         const std::string& backend);

// A dtype has the same colour and marker on the whole page.
std::string dtype_class(std::string_view dtype);
Marker dtype_marker(std::string_view dtype);
std::string dtype_legend(const Context& c, const std::string& extra);

}  // namespace assay::page
