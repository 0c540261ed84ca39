// SPDX-License-Identifier: Apache-2.0
// The accuracy report as pages of one folder. Each page is one file that needs no other file and no network.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/data/digest.hpp"
#include "reports/data/report_data.hpp"
#include "reports/sweep/data/record.hpp"

namespace assay::page {

/// The layout that all pages share: head, verdict, contents, sections, end. Each page fills in its texts.
struct Section {
  std::string id, title, html;
};

/// The parts of a page. All texts are HTML.
struct Frame {
  std::string verdict;  // PASS, FAIL, ...
  bool passed = false;
  bool partly = false;         // neither passed nor failed: amber
  std::string subject;         // the window's title is "VERDICT: SUBJECT"
  std::string heading, about;  // `about`: a paragraph
  std::string sentence;        // to the right of the verdict
  std::string facts = {};      // below the verdict: counts
  std::string below = {};      // above the contents: failures, the machine
  std::vector<Section> sections = {};
  std::string_view css = {}, js = {};  // added to those of all pages
};
/// The links to the other pages of a folder stand between these: folder/write_report.hpp puts them there.
inline constexpr std::string_view kPagesBegin = "<!--pages-->", kPagesEnd = "<!--/pages-->";

/// The text of a self-contained page. It has a table of contents if it has more than three sections.
std::string framed(const Frame& f);

/// A small label over a large number. `css`: a class for the number. A value of "0" is always grey.
struct Count {
  std::string label, value, css = {};
};
std::string count_list(const std::vector<Count>& counts);

/// A table of labels and values. They are plain text, and are escaped here.
std::string where_made(const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace assay::page

namespace assay {

/// What other commands left in the folder, and the pages show too.
struct InFolder {
  std::vector<SweepRecord> sweep;  // of kernels and peers: sweep.jsonl and peers.jsonl
  std::vector<AccessRecord> accesses;
};

/// Names relative to the folder, and texts: index.html at a glance, compare.html with all kernels side by
/// side, and kernels/NAME.html for each kernel. A kernel is a variant in every dtype and on every backend.
std::vector<std::pair<std::string, std::string>> render_pages(const Digest& digest,
                                                              const InFolder& in_folder = {});
std::vector<std::pair<std::string, std::string>> render_pages(const ReportData& data,
                                                              const InFolder& in_folder = {});

}  // namespace assay
