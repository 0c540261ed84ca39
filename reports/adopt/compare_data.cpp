// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/compare_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "reference/text.hpp"
#include "reports/adopt/certificate_of.hpp"
#include "reports/adopt/certificate_page.hpp"
#include "reports/adopt/conclude.hpp"
#include "reports/data/environment.hpp"
#include "reports/data/files.hpp"
#include "reports/data/html.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/page/page.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Of the data, what the certificate is made from beside the facts.
constexpr const char* kMadeFrom[] = {"check/about.json", "check/records.jsonl", "functions/functions.json",
                                     "sweep/sweep.jsonl"};

/// True if the certificate can be made from the files that are there. A file that it names elsewhere is never
/// looked at.
bool compare_hashes(ComparedData& out, const Certificate& c, const fs::path& folder) {
  const std::vector<CertifiedData> there = data_in(folder);
  std::set<std::string> missing, listed;
  for (const CertifiedData& d : c.data) {
    listed.insert(d.path);
    const auto now = std::ranges::find(there, d.path, &CertifiedData::path);
    if (now == there.end())
      missing.insert(d.path);
    else if (now->sha256 != d.sha256)
      out.differences.push_back(
          fmt::format("{}: its SHA-256 is {}, and in the certificate {} (if another run wrote into this "
                      "folder, give the certificate a folder of its own)",
                      (folder / d.path).string(), now->sha256, d.sha256));
  }
  // Without the facts it is another folder, whatever lies in it.
  const bool facts = std::ranges::find(there, kFactsFile, &CertifiedData::path) != there.end();
  if (!facts) missing = {kFactsFile};
  for (const std::string& path : missing)
    out.not_compared.push_back((folder / path).string() + " is not there");
  for (const CertifiedData& one : there)
    if (facts && !listed.contains(one.path))
      out.differences.push_back(
          fmt::format("{}: the certificate does not list it", (folder / one.path).string()));
  return facts && std::ranges::none_of(kMadeFrom, [&](const char* path) { return missing.contains(path); });
}

/// True if what a page holds between the marks of its links is links, and nothing that shows or hides other
/// things.
bool has_plain_links(const std::string& page) {
  static const std::regex plain(
      "(<nav class=\"pages\" aria-label=\"Pages of this folder\">"
      "(<a href=\"[\\w./-]+[.]html\"( aria-current=\"page\")?>[\\w .-]+</a>)+</nav>)?");
  const std::size_t begin = page.find(page::kPagesBegin), end = page.find(page::kPagesEnd, begin);
  if (begin == page.npos || end == page.npos) return true;
  const std::size_t from = begin + page::kPagesBegin.size();
  // More than any folder's links: std::regex needs stack for each letter.
  return end - from < 4000 && std::regex_match(page.substr(from, end - from), plain);
}

/// Its page and its badge, where they lie beside it. Links depend on what else is there.
void compare_page(ComparedData& out, const Certificate& c, const fs::path& folder) {
  const auto compare = [&](const char* name, const std::string& made) {
    std::error_code none;
    if (!fs::is_regular_file(folder / name, none)) return;
    const std::string there = read_file(folder / name);
    if (with_links(there, {}, name) != with_links(made, {}, name) || !has_plain_links(there))
      out.differences.push_back((folder / name).string() + ": is not what this certificate makes");
  };
  compare("certificate.html", render_certificate_page(c));
  compare("badge.svg", render_badge(c));
  compare("badge.md", badge_line(c, "") + "\n");
}

/// What the certificate says of itself: its verdict follows from its kernels and steps.
Certificate on_paper(Certificate c) {
  const std::vector<std::string> open = c.not_proved;
  for (CertifiedKernel& k : c.kernels) k.verdict = verdict_of_kernel(k);
  conclude(c, c.exit_status == 0);
  c.not_proved = open;
  return c;
}

/// Sentences of another version of this program are none of this one's.
void take_sentences(json& made, const json& from, const std::vector<std::string>& members) {
  if (!made.is_structured() || made.type() != from.type()) return;
  for (const auto& [name, value] : from.items()) {
    if (made.is_array() && made.size() != from.size()) return;
    json& mine = made.is_array() ? made[std::stoul(name)] : made[name];
    if (made.is_object() && std::ranges::find(members, name) != members.end())
      mine = value;
    else
      take_sentences(mine, value, members);
  }
}

}  // namespace

std::vector<std::string> differing_members(const json& certified, const json& made, const std::string& who) {
  const auto said = [](const json& in, const json::json_pointer& at) {
    return in.contains(at) ? shorten(in[at].dump(-1, ' ', false, json::error_handler_t::replace), 200)
                           : std::string("nothing");
  };
  std::vector<std::string> found;
  for (const json& one : json::diff(certified, made)) {
    const std::string path = one.at("path");
    const json::json_pointer at(path);
    const bool added = one.at("op") == "add";
    found.push_back(fmt::format("{}: the certificate says {}, and {} {}", path,
                                added ? "nothing" : said(certified, at), who,
                                one.contains("value") ? said(one, json::json_pointer("/value")) : "nothing"));
  }
  return found;
}

ComparedData compare_data(const Certificate& c, const fs::path& folder) {
  ComparedData out;
  out.made_again = compare_hashes(out, c, folder);
  const auto program = std::ranges::find(c.environment, "assay", &CertifiedFact::label);
  const std::string now = environment().at(0).second;
  const bool same_program = program != c.environment.end() && program->value == now;
  if (same_program)
    compare_page(out, c, folder);
  else
    out.not_compared.push_back(
        fmt::format("sentences, the page and the badge: {} wrote them, and this is {}",
                    program == c.environment.end() ? "an unknown version of assay" : program->value, now));
  try {
    const json certified = parse_json(render_certificate(c));
    json made = parse_json(render_certificate(out.made_again ? certificate_in(folder, c.data) : on_paper(c)));
    made["sha256"] = certified.at("sha256");
    if (!same_program) take_sentences(made, certified, {"reason", "words", "not_proved"});
    for (std::string& one :
         differing_members(certified, made, out.made_again ? "its data say" : "the rest of it says"))
      out.differences.push_back(std::move(one));
  } catch (const json::exception& e) {
    out.differences.push_back("it cannot be made again: " + plain_words(e));
  } catch (const std::exception& e) {
    out.differences.push_back(std::string("it cannot be made again: ") + e.what());
  }
  return out;
}

}  // namespace assay
