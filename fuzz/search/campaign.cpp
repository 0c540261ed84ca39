// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/campaign.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "accuracy/verdict/behaves_like.hpp"
#include "reference/error.hpp"
#include "reference/fields.hpp"
#include "reference/paths.hpp"

namespace assay::fuzz {
namespace {

/// Genomes and records have a JSON form of their own.
template <class G>
struct GenomeField {
  G& v;
  void write(nlohmann::json& j) const { j = to_json(v); }
  void read(const nlohmann::json& j) const { v = genome_from_json(j); }
};
template <class R>
struct RecordField {
  R& v;
  void write(nlohmann::json& j) const { j = to_json(v); }
  void read(const nlohmann::json& j) const { v = record_from_json(j); }
};

}  // namespace

template <IsA<Failure> F, class Visit>
void each_field(F& f, Visit& visit) {
  visit("check", f.signature.check);
  visit("rows", f.signature.rows);
  visit("genome", GenomeField{f.genome});
  visit("record", RecordField{f.record});
  visit("evaluation", f.evaluation);
}

template <IsA<SearchResult> R, class Visit>
void each_field(R& r, Visit& visit) {
  visit("evaluations", r.evaluations);
  visit("elements", r.elements);
  visit("rows", r.rows);
  visit("batches", r.batches);
  visit("in_full", r.in_full);
  visit("passed", r.passed);
  visit("unsupported", r.unsupported);
  visit("coarse", r.coarse);
  visit("inconclusive", r.inconclusive);
  visit("reason", r.reason);
  visit("seconds", r.seconds);
  visit("largest_share", r.largest_share);
  visit("largest_check", r.largest_check);
  visit("enough", r.enough);
  visit("failures", r.failures);
}

nlohmann::json to_json(const SearchResult& result, const Corpus& corpus) {
  return {{"result", fields_to_json(result)}, {"corpus", corpus.text()}};
}

Checkpoint checkpoint_from_json(const nlohmann::json& j) {
  const FieldReader field{j};
  Checkpoint c;
  std::string text;
  field("result", c.result);
  field("corpus", text);
  c.corpus = corpus_from_text(text, "field corpus");
  return c;
}

namespace {

std::string contents(const std::filesystem::path& file) {
  require_file(file);
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw InputError(file.string() + ": can not be read");
  return text.str();
}

std::string name_of(const Variant& v, const CampaignOptions& o) { return o.name.empty() ? v.key() : o.name; }

/// The corpus that this search left, with the better entries of the other files.
Corpus remembered(const CampaignOptions& o, const std::string& key) {
  Corpus own;
  own.key = key;
  if (o.corpus.empty() || !std::filesystem::exists(o.corpus)) return own;
  const std::filesystem::path mine = corpus_file(o.corpus, key, o.suffix);
  if (std::filesystem::exists(mine)) own = corpus_from_text(contents(mine), mine.string());
  if (own.key != key) throw InputError(mine.string() + ": is the corpus of " + own.key);
  for (const std::filesystem::path& file : corpus_files(o.corpus)) {
    if (file == mine) continue;
    const Corpus other = corpus_from_text(contents(file), file.string());
    if (other.key == key) own.take(other);
  }
  return own;
}

FuzzFinding finding_of(const Variant& v, Op op, const Failure& f, const CampaignOptions& o, bool shrunk) {
  const Trial trial = trial_of(f.genome, v, op);
  // These are not shrunk: after a crash in this process the device can run nothing more, and a hanging trial
  // takes the whole timeout each time.
  const bool as_it_is =
      !shrunk || f.record.status == Status::hung || (f.record.status == Status::crashed && !v.launcher);
  const Shrunk s = as_it_is ? Shrunk{trial, f.record, 0} : shrink(v, op, trial, f.signature, o.shrink);
  FuzzFinding found;
  found.record = s.record;
  found.launches = s.launches;
  found.name =
      fmt::format("{}.{}-{}{}.json", file_name(name_of(v, o)), f.signature.check, f.signature.rows, o.suffix);
  CaseFile& c = found.file;
  c.key = v.key();
  c.origin = v.origin;
  c.with_options = o.with_options;
  c.claim = claimed_class(v);
  c.op = op;
  c.trial = s.trial;
  c.fails = f.signature;
  for (const CheckResult& check : s.record.checks)
    if (name(check.check) == f.signature.check) c.detail = check.detail;
  const std::int64_t generations = f.evaluation / kGeneration + 1;
  c.found = fmt::format("{} --evaluations {}{}: number {}", o.found, generations * kGeneration,
                        o.corpus.empty() ? "" : ", going on from a corpus", f.evaluation);
  c.genome = f.genome;
  return found;
}

}  // namespace

std::vector<std::filesystem::path> corpus_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().string().ends_with(".corpus.jsonl")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

Corpus merged(const std::vector<Corpus>& all) {
  Corpus c = all.at(0);
  for (std::size_t i = 1; i < all.size(); ++i) {
    c.take(all[i]);
    c.evaluations += all[i].evaluations;
  }
  return c;
}

Campaign run_campaign(const std::function<Variant()>& candidate, Op op, const CampaignOptions& o,
                      std::string* corpus_text) {
  const Variant v = candidate();
  Campaign c;
  Corpus corpus = o.from ? o.from->corpus : remembered(o, name_of(v, o));
  c.known_before = corpus.entries.size();
  SearchOptions options = o.search;
  corpus.seed = options.seed;
  if (o.from) options.from = &o.from->result;
  std::vector<Signature> told;
  options.learned = [&](const SearchResult& r, const Corpus& so_far) {
    for (const Failure& f : r.failures) {
      if (!o.at_once || std::find(told.begin(), told.end(), f.signature) != told.end()) continue;
      told.push_back(f.signature);
      o.at_once(finding_of(v, op, f, o, false));
    }
    if (o.search.learned) o.search.learned(r, so_far);
  };
  c.result = search(candidate, op, options, corpus);
  c.remembered = corpus.entries.size();
  if (corpus_text) *corpus_text = corpus.text();
  for (const Failure& f : c.result.failures) c.findings.push_back(finding_of(v, op, f, o, true));
  return c;
}

}  // namespace assay::fuzz
