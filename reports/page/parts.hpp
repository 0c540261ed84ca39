// The page's sections, one function each, in the page's order. Only pages include this.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/data/report_data.hpp"
#include "reports/data/tally.hpp"
#include "reports/page/frame.hpp"
#include "reports/page/svg.hpp"

namespace assay::page {

// What every section needs, gathered once.
struct Context {
  const ReportData& data;
  std::vector<KeyTally> keys;
  std::vector<std::string> backends, dtypes, variants;
  std::string main_backend;  // the one shown open: the first that ran
};

Frame overview(const Context& c);                 // verdict, counts, failures, environment
std::string conformance(const Context& c);        // groups of cases, and what failing ones have in common
std::string variants_by_dtype(const Context& c);  // the matrix and every key with its claim
std::string error_by_distance(const Context& c);  // ulp against |x - m|
std::string error_by_size(const Context& c);      // error against V
std::string signed_errors(const Context& c);      // histograms
std::string special_values(const Context& c);
std::string domain(const Context& c);
std::string worst_cases(const Context& c);
std::string families(const Context& c);
std::string utilisation(const Context& c);        // error/bound, key by family, and by class and check
std::string resolution(const Context& c);         // the smallest error refused, key by row length
std::string behaviour(const Context& c);          // claimed class, behaves like, evidence
std::string oracle_speed(const Context& c);       // both tiers, elements judged a second
std::string functions(const FunctionsReport& r);  // building blocks
std::string how_to_read();

/// A table up to its first row. A heading that starts with '#' stands over numbers.
std::string open_table(std::initializer_list<const char*> headings, bool sortable = true);
// Cells carry the value they sort by; absent values sort last.
std::string number_cell(std::optional<double> v, const std::string& note = "");
std::string count_cell(std::int64_t v);
std::string extreme_cell(const Extreme& e, bool where);
std::string ratio_cell(const Extreme& e, bool where);
std::string command(std::string_view text);
std::string status_word(Status s);
std::string scroll(const std::string& table);
/// The main backend's content open, the others folded away below it.
std::string per_backend(const Context& c, std::string (*content)(const Context&, const std::string& backend));
const KeyTally* find_key(const Context& c, const std::string& variant, const std::string& dtype,
                         const std::string& backend);

// dtypes keep their colour and marker on the whole page.
std::string dtype_class(std::string_view dtype);
Marker dtype_marker(std::string_view dtype);
std::string dtype_legend(const Context& c, const std::string& extra);

}  // namespace assay::page
