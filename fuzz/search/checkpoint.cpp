// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/checkpoint.hpp"

#include <nlohmann/json.hpp>

#include "reference/fields.hpp"

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

}  // namespace assay::fuzz
