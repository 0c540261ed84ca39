// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/largest_shares.hpp"

#include <algorithm>
#include <cmath>

#include "accuracy/case/job.hpp"
#include "accuracy/judge/judged_row.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay::fuzz {
namespace {

struct First {
  std::vector<Genome> genomes;
  std::vector<std::string> names;
};

/// Rows of every finite family, and three that families do not have: a 0 before or after logits of half an
/// ulp, which a sum loses one by one, and a single step.
First first_rows(const Variant& v, std::int64_t V, std::uint64_t seed) {
  First first;
  for (const Family& f : families()) {
    if (f.kind == FamilyKind::special || !applies(f, v.dtype, V)) continue;
    const Tensor t = make_input(f, v.dtype, V, 2, seed);
    for (std::int64_t r = 0; r < t.rows; ++r) {
      Genome g{.V = V, .rows = 1};
      for (std::int64_t j = 0; j < V; ++j) g.row.push_back(t.at(r, j));
      first.genomes.push_back(std::move(g));
      first.names.push_back(f.name);
    }
  }
  const Terms terms = terms_of(v.claim, v.backend, v.out(), V);
  Genome half{.base = Base::constant, .V = V, .rows = 1};
  half.offset = -next_up(v.dtype, round_to(v.dtype, -std::log(terms.u)));
  half.stretches = 1;
  half.stretch[0].length = 1;
  Genome last = half, step = half;
  last.stretch[0].start = -1;
  step.offset = -1;
  first.genomes.insert(first.genomes.end(), {half, last, step});
  first.names.insert(first.names.end(), {"half an ulp after 0", "half an ulp before 0", "one step"});
  return first;
}

const Entry* entry_of(const Corpus& corpus, Check check, bool far, std::int64_t V) {
  const auto at = corpus.entries.find(share_feature(check, far, V));
  return at == corpus.entries.end() ? nullptr : &at->second;
}

std::vector<std::uint64_t> bits_of(const Genome& g, Dtype dtype) {
  const Tensor row = tensor_of(g, dtype);
  std::vector<std::uint64_t> bits;
  for (std::int64_t j = 0; j < row.V; ++j) bits.push_back(load_bits(dtype, row.row(0), j));
  return bits;
}

/// "element: ...", of a trial that failed.
std::string violation_of(const Failure& f) {
  for (const CheckResult& c : f.record.checks)
    if (c.failed > 0) return std::string(name(c.check)) + ": " + c.detail;
  return f.signature.check + ": " + f.record.reason;
}

void add_results(std::vector<LargestShare>& results, const Variant& v, std::int64_t V,
                 const SearchResult& found, const First& rows, const Corpus& first, const Corpus& all) {
  for (const Check check : kSharedBounds) {
    const Entry *const near = entry_of(all, check, false, V), *const far = entry_of(all, check, true, V),
                       *const start = entry_of(first, check, false, V);
    LargestShare r{.check = name(check), .V = V, .any = -1, .start_utilisation = -1, .utilisation = -1};
    for (const Entry* e : {near, far})
      if (e) r.any = std::max(r.any, e->score);
    if (start) {
      r.start_utilisation = start->score;
      const auto at = std::find(rows.genomes.begin(), rows.genomes.end(), start->genome);
      r.start = rows.names[static_cast<std::size_t>(at - rows.genomes.begin())];
    }
    if (!found.failures.empty()) {
      const Failure& f = found.failures[0];
      r.violation = violation_of(f);
      r.bits = bits_of(f.genome, v.dtype);
      for (const CheckResult& c : f.record.checks)
        if (c.check == check) r.any = r.utilisation = c.utilisation;
    } else if (near) {
      r.utilisation = near->score;
      r.bits = bits_of(near->genome, v.dtype);
    } else {
      continue;  // judged on no row
    }
    results.push_back(std::move(r));
  }
}

}  // namespace

std::string not_searched(const Variant& variant) {
  if (variant.op == Op::topk) return "op topk has no bound: it is right or wrong";
  const std::string other = not_plain_rows(variant, variant.op);
  return other.empty() ? other : "a search draws rows of logits: " + other;
}

std::vector<LargestShare> largest_shares(const Variant& variant, const ShareOptions& options) {
  std::vector<LargestShare> results;
  for (const std::int64_t V : options.sizes) {
    SearchOptions o;
    o.objective = Objective::largest_shares;
    const First rows = first_rows(variant, V, options.seed);
    o.first = rows.genomes;
    o.seed = options.seed ^ static_cast<std::uint64_t>(V);
    o.most_failures = 1;
    o.domain.sizes = {V};
    o.domain.most_rows = 1;
    o.domain.dense = o.domain.usual_launch = o.domain.finite = true;
    o.domain.steps_of = variant.dtype;
    Corpus corpus;
    corpus.drifts = true;
    o.evaluations = std::ssize(rows.genomes);
    const auto candidate = [&variant] { return variant; };
    SearchResult found = search(candidate, variant.op, o, corpus);
    const Corpus first = corpus;
    if (found.failures.empty() && options.evaluations > 0) {
      SearchResult before = std::move(found);
      before.enough = 0;  // that was the end of the first rows
      o.from = &before;
      o.evaluations += options.evaluations * std::ssize(kSharedBounds);
      found = search(candidate, variant.op, o, corpus);
    }
    add_results(results, variant, V, found, rows, first, corpus);
    if (!found.failures.empty()) break;
  }
  return results;
}

}  // namespace assay::fuzz
