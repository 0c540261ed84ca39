// SPDX-License-Identifier: Apache-2.0
#include "fuzz/search/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <memory>

#include "accuracy/case/job.hpp"
#include "accuracy/record.hpp"
#include "fuzz/genome_element.hpp"
#include "fuzz/search/device_batch.hpp"
#include "reference/parallel.hpp"

namespace assay::fuzz {
namespace {

constexpr std::int64_t kFreshFirst = 64;   // evaluations before the first mutation
constexpr std::int64_t kNewOfShares = 64;  // of the largest shares: one genome in so many is drawn anew
constexpr std::int64_t kEveryFull = 8;     // check_case judges one trial in so many, whatever it shows
constexpr std::int64_t kBatches = 16;      // device batches per generation
constexpr std::int64_t kBatchRows = 32;    // rows of a genome in a device batch
constexpr std::int64_t kMostBatchRows = std::int64_t{1} << 17;
constexpr std::int64_t kEnoughFailures = 8;  // failures of one batch to judge again

/// Trials drawn together, and their results.
struct Generation {
  std::int64_t from = 0;  // number of the first trial
  std::vector<Genome> genomes;
  std::vector<double> wanted;  // a share of the element check above this is judged in full
  std::vector<Evaluation> results;
};

Genome child(const std::vector<const Entry*>& parents, std::int64_t number, const SearchOptions& o) {
  if (number < std::ssize(o.first)) return o.first[static_cast<std::size_t>(number)];
  MutationRandom random(mixed(o.seed) ^ mixed(static_cast<std::uint64_t>(number) + 0x5eed));
  const auto any = [&]() -> const Genome& {
    return parents[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(parents.size())))]->genome;
  };
  const auto parent = [&]() -> const Genome& {
    for (;;) {
      const Genome& g = any();
      if (g.V <= 8192 || random.one_in(8)) return g;  // long rows are slow
    }
  };
  if (o.objective == Objective::largest_shares && !parents.empty() && !random.one_in(kNewOfShares)) {
    // Each check's best row in turn; one in eight is another check's.
    const std::int64_t turn = random.one_in(8) ? number + 1 + random.below(3) : number;
    return mutate(parents[static_cast<std::size_t>(turn % std::ssize(parents))]->genome, random, o.domain);
  }
  if (parents.empty() || number < kFreshFirst || random.one_in(6)) return fresh(random, o.domain);
  const Genome& first = parent();
  if (random.one_in(4)) return mutate(cross(first, parent(), random, o.domain), random, o.domain);
  return mutate(first, random, o.domain);
}

/// The share that beats the best so far; normal and subnormal outputs are counted apart.
double wanted_of(const Genome& g, const Corpus& corpus) {
  double least = INFINITY;
  for (const bool far : {false, true}) {
    const auto at = corpus.entries.find(share_feature(Check::element, far, g.V));
    least = std::min(least, at == corpus.entries.end() ? 0 : at->second.score);
  }
  return least;
}

void try_all(Generation& g, const std::vector<std::unique_ptr<GenomeEvaluator>>& workers,
             Objective objective) {
  const std::int64_t every = objective == Objective::failures ? kEveryFull : 1;
  parallel_for_workers(g.genomes.size(), static_cast<int>(workers.size()), [&](std::size_t i, int worker) {
    const GenomeEvaluator& evaluate = *workers[static_cast<std::size_t>(worker)];
    g.results[i] = evaluate(g.genomes[i], (g.from + static_cast<std::int64_t>(i)) % every == 0, g.wanted[i]);
    if (objective == Objective::largest_shares) evaluate.say_far(g.genomes[i], g.results[i]);
  });
}

void note_failure(SearchResult& r, const Genome& g, const Evaluation& e, std::int64_t number) {
  const auto at = std::find_if(r.failures.begin(), r.failures.end(),
                               [&](const Failure& f) { return f.signature == e.signature; });
  if (at == r.failures.end())
    r.failures.push_back({e.signature, g, *e.record, number});
  else if (g.V * g.rows < at->genome.V * at->genome.rows)
    *at = {e.signature, g, *e.record, at->evaluation};
}

void note(SearchResult& r, const Genome& g, const Evaluation& e, std::int64_t number) {
  ++r.evaluations;
  r.elements += e.elements;
  r.rows += g.rows;
  r.in_full += e.record.has_value();
  if (!e.signature.check.empty()) {
    note_failure(r, g, e, number);
    return;
  }
  const Status status = e.record ? e.record->status : Status::pass;
  r.passed += status == Status::pass;
  r.inconclusive += status == Status::inconclusive;
  r.unsupported += status == Status::unsupported || status == Status::not_run;
  r.coarse += e.record && too_coarse(*e.record);
  if (status != Status::pass && r.reason.empty()) r.reason = e.record->reason;
  if (!e.far && status == Status::pass)
    for (int c = 0; c < kChecks; ++c)
      if (const double share = e.share[static_cast<std::size_t>(c)]; share > r.largest_share) {
        r.largest_share = share;
        r.largest_check = assay::name(static_cast<Check>(c));
      }
}

using Parents = std::vector<const Entry*>;
Parents parents_of(const Corpus& corpus, Objective objective) {
  Parents parents;
  for (const auto& [feature, entry] : corpus.entries)
    if (objective == Objective::failures ||
        std::any_of(kSharedBounds.begin(), kSharedBounds.end(),
                    [&](Check c) { return feature == share_feature(c, false, entry.genome.V); }))
      parents.push_back(&entry);
  return parents;
}

/// Draws the next generation, at most `most` genomes, and takes their numbers.
Generation drawn_generation(const SearchOptions& o, std::int64_t most, Corpus& corpus) {
  Generation g;
  g.from = corpus.evaluations;
  const Parents parents = parents_of(corpus, o.objective);
  if (o.objective == Objective::largest_shares) most = 1;
  for (std::int64_t i = 0; i < std::min(most, kGeneration - g.from % kGeneration); ++i) {
    g.genomes.push_back(child(parents, g.from + i, o));
    g.wanted.push_back(wanted_of(g.genomes.back(), corpus));
  }
  g.results.resize(g.genomes.size());
  corpus.evaluations += static_cast<std::int64_t>(g.genomes.size());
  return g;
}

void learn_all(SearchResult& r, const Generation& g, Corpus& corpus) {
  for (std::size_t i = 0; i < g.genomes.size(); ++i) {
    note(r, g.genomes[i], g.results[i], g.from + static_cast<std::int64_t>(i));
    corpus.learn(g.genomes[i], g.results[i]);
  }
}

/// One batch on the device: finite rows of one length. check_case judges what does not pass.
void device_batch(SearchResult& r, DeviceBatch& batch, const GenomeEvaluator& evaluate,
                  const SearchOptions& o, std::int64_t most, Corpus& corpus) {
  const std::int64_t from = corpus.evaluations;
  MutationRandom random(mixed(o.seed) ^ mixed(static_cast<std::uint64_t>(from) + 0xba7c4));
  SearchOptions plain = o;
  plain.domain.finite = plain.domain.dense = true;
  const std::int64_t V = std::clamp<std::int64_t>(fresh(random, o.domain).V, 1, o.batch_elements);
  const std::int64_t rows = std::min(kMostBatchRows, o.batch_elements / V);
  const std::int64_t rows_each = std::min(kBatchRows, rows);
  const Parents parents = parents_of(corpus, o.objective);
  Generation g;
  for (std::int64_t i = 0; i < std::min(most, rows / rows_each); ++i) {
    Genome one = child(parents, from + i, plain);
    one.V = V;
    one.rows = rows_each;
    g.genomes.push_back(in_range(one));
  }
  std::vector<bool> again;
  g.results = batch(g.genomes, again);
  std::int64_t failures = 0;
  const Genome* best[2] = {};  // for normal and for far rows
  double share[2] = {0, 0};
  for (std::size_t i = 0; i < g.genomes.size(); ++i) {
    if (again[i]) {
      if (failures >= kEnoughFailures) continue;
      g.results[i] = evaluate(g.genomes[i], true, 0);
      corpus.learn(g.genomes[i], g.results[i]);
      failures += !g.results[i].signature.check.empty();
    } else if (const double s = g.results[i].share[static_cast<std::size_t>(Check::element)];
               s > share[g.results[i].far]) {
      share[g.results[i].far] = s;
      best[g.results[i].far] = &g.genomes[i];
    }
    note(r, g.genomes[i], g.results[i], from + static_cast<std::int64_t>(i));
  }
  for (const Genome* one : best)
    if (one) corpus.learn(*one, g.results[static_cast<std::size_t>(one - g.genomes.data())]);
  corpus.evaluations += static_cast<std::int64_t>(g.genomes.size());
  ++r.batches;
}

/// A device that no longer answers makes CUDA unusable in this process: nothing more can be tried.
void note_lost_device(SearchResult& r, const Variant& v, Op op, const std::string& words,
                      std::int64_t number) {
  Record record = blank_record(v, "fuzz", op, {}, 0);
  record.status = Status::crashed;
  record.reason = words;
  r.failures.push_back({{name(Status::crashed), "finite"}, Genome{}, record, number});
}

}  // namespace

Domain domain_of(const Variant& variant, Op op) {
  Domain d;
  d.V_multiple = std::max<std::int64_t>(1, variant.limits.V_multiple);
  d.shortest = variant.limits.min_V;
  d.fewest_rows = std::max<std::int64_t>(1, variant.limits.min_rows);
  if (variant.limits.max_V > 0) d.longest = std::min(d.longest, variant.limits.max_V);
  for (int i = 0; i < variant.limits.V_in.count; ++i)
    d.sizes.push_back(variant.limits.V_in.all[static_cast<std::size_t>(i)]);
  if (variant.limits.max_rows > 0) d.most_rows = std::min(d.most_rows, variant.limits.max_rows);
  d.dense =
      variant.limits.dense || variant.limits.alignment > static_cast<std::int64_t>(size_of(variant.dtype));
  d.finite = variant.limits.finite;
  d.k_up_to_V = variant.limits.k_up_to_V;
  d.max_k = selects(op) ? variant.max_k : keeps_a_set(op) ? static_cast<int>(thresholds(op, true).size()) : 0;
  return d;
}

SearchResult search(const std::function<Variant()>& candidate, Op op, const SearchOptions& o,
                    Corpus& corpus) {
  SearchResult r;
  if (o.from) r = *o.from;
  std::vector<std::unique_ptr<GenomeEvaluator>> workers;
  for (int w = 0; w < std::max(1, o.workers); ++w)
    workers.push_back(std::make_unique<GenomeEvaluator>(candidate(), op));
  // A Python module may take half a minute to load, and that is no time of the search.
  const double before = r.seconds;
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return before + std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  // After the first failure the search goes on for about as long as it has taken, to find other failures,
  // then stops.
  std::int64_t& enough = r.enough;
  if (enough == 0) enough = o.evaluations > 0 ? o.evaluations : INT64_MAX;
  std::unique_ptr<DeviceBatch> batch;
  std::unique_ptr<GenomeEvaluator> second_look;  // of what a batch did not pass: the workers are busy then
  if (o.on_device && o.batch_elements > 0 && no_device_batch(*o.on_device, op).empty()) {
    batch = std::make_unique<DeviceBatch>(*o.on_device, o.batch_elements, kMostBatchRows);
    second_look = std::make_unique<GenomeEvaluator>(candidate(), op);
  }
  const auto goes_on = [&] {
    return r.evaluations < enough && static_cast<int>(r.failures.size()) < o.most_failures &&
           !(o.seconds > 0 && seconds() >= o.seconds);
  };
  bool lost = false;
  while (goes_on() && !lost) {
    const bool clean = r.failures.empty();
    Generation g = drawn_generation(o, enough - r.evaluations, corpus);
    std::future<void> tried = std::async(batch ? std::launch::async : std::launch::deferred,
                                         [&] { try_all(g, workers, o.objective); });
    // Device batches run while the workers try this generation. It is learned from when the workers are done.
    try {
      for (int n = 0; batch && n < kBatches && goes_on(); ++n) {
        const std::int64_t left = enough - r.evaluations - static_cast<std::int64_t>(g.genomes.size());
        if (left <= 0) break;
        device_batch(r, *batch, *second_look, o, left, corpus);
        r.seconds = seconds();
        if (o.progress) o.progress(r);
      }
    } catch (const std::runtime_error& e) {
      note_lost_device(r, *o.on_device, op, e.what(), corpus.evaluations);
      lost = true;
    }
    tried.get();
    learn_all(r, g, corpus);
    if (clean && !r.failures.empty())
      enough = std::min(enough, std::max(2 * r.evaluations, r.evaluations + 8 * kGeneration));
    r.seconds = seconds();
    if (o.progress) o.progress(r);
    if (o.learned) o.learned(r, corpus);
  }
  r.seconds = seconds();
  return r;
}

}  // namespace assay::fuzz
