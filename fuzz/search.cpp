#include "fuzz/search.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "fuzz/genome_element.hpp"

namespace assay::fuzz {
namespace {

constexpr std::int64_t kFreshFirst = 64;  // evaluations before anything is mutated
constexpr std::int64_t kEveryFull = 8;    // one trial of so many goes through check_case whatever it shows

/// What happened to a generation's trials, each in its own place.
struct Generation {
  std::vector<Genome> genomes;
  std::vector<Evaluation> results;
};

Genome child(const std::vector<const Entry*>& parents, std::int64_t number, const SearchOptions& o) {
  Random random(mixed(o.seed) ^ mixed(static_cast<std::uint64_t>(number) + 0x5eed));
  const auto parent = [&]() -> const Genome& {
    return parents[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(parents.size())))]->genome;
  };
  if (parents.empty() || number < kFreshFirst || random.one_in(6)) return fresh(random, o.domain);
  const Genome& first = parent();
  if (random.one_in(4)) return mutate(cross(first, parent(), random, o.domain), random, o.domain);
  return mutate(first, random, o.domain);
}

void try_all(Generation& g, const std::vector<std::unique_ptr<Evaluator>>& workers, const Corpus& corpus,
             std::int64_t from) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&](const Evaluator& evaluate) {
    try {
      for (std::size_t i; (i = next++) < g.genomes.size();) {
        const Genome& one = g.genomes[i];
        // What beats the best so far is looked at in full, on normal and on subnormal outputs apart.
        double wanted = INFINITY;
        for (const bool far : {false, true}) {
          const auto at = corpus.entries.find(element_feature(one, far));
          wanted = std::min(wanted, at == corpus.entries.end() ? 0 : at->second.score);
        }
        g.results[i] = evaluate(one, (from + static_cast<std::int64_t>(i)) % kEveryFull == 0, wanted);
      }
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t w = 1; w < workers.size(); ++w) threads.emplace_back(work, std::cref(*workers[w]));
  work(*workers[0]);
  for (std::thread& t : threads) t.join();
  if (error) std::rethrow_exception(error);
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
  if (status != Status::pass && r.reason.empty()) r.reason = e.record->reason;
  if (!e.far && status == Status::pass)
    for (int c = 0; c < kChecks; ++c)
      if (const double share = e.share[static_cast<std::size_t>(c)]; share > r.largest_share) {
        r.largest_share = share;
        r.largest_check = assay::name(static_cast<Check>(c));
      }
}

}  // namespace

Domain domain_of(const Variant& variant, Op op) {
  Domain d;
  d.V_multiple = std::max<std::int64_t>(1, variant.limits.V_multiple);
  if (variant.limits.max_V > 0) d.longest = std::min(d.longest, variant.limits.max_V);
  d.dense =
      variant.limits.dense || variant.limits.alignment > static_cast<std::int64_t>(size_of(variant.dtype));
  d.finite = variant.limits.finite;
  d.max_k = selects(op) ? variant.max_k : 0;
  return d;
}

SearchResult search(const std::function<Variant()>& candidate, Op op, const SearchOptions& o,
                    Corpus& corpus) {
  const auto begin = std::chrono::steady_clock::now();
  SearchResult r;
  std::vector<std::unique_ptr<Evaluator>> workers;
  for (int w = 0; w < std::max(1, o.workers); ++w)
    workers.push_back(std::make_unique<Evaluator>(candidate(), op));
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  // What broke once is shown again from every side for as long as it took to find, and then it is enough.
  std::int64_t enough = o.evaluations > 0 ? o.evaluations : INT64_MAX;
  while (r.evaluations < enough && static_cast<int>(r.failures.size()) < o.most_failures &&
         !(o.seconds > 0 && seconds() >= o.seconds)) {
    const std::int64_t from = corpus.evaluations;
    const std::int64_t count = std::min(enough - r.evaluations, kGeneration - from % kGeneration);
    std::vector<const Entry*> parents;
    for (const auto& [feature, entry] : corpus.entries) parents.push_back(&entry);
    Generation g;
    for (std::int64_t i = 0; i < count; ++i) g.genomes.push_back(child(parents, from + i, o));
    g.results.resize(g.genomes.size());
    try_all(g, workers, corpus, from);
    const bool clean = r.failures.empty();
    for (std::size_t i = 0; i < g.genomes.size(); ++i) {
      note(r, g.genomes[i], g.results[i], from + static_cast<std::int64_t>(i));
      corpus.learn(g.genomes[i], g.results[i]);
    }
    corpus.evaluations += count;
    if (clean && !r.failures.empty())
      enough = std::min(enough, std::max(2 * r.evaluations, r.evaluations + 8 * kGeneration));
    r.seconds = seconds();
    if (o.progress) o.progress(r);
  }
  r.seconds = seconds();
  return r;
}

}  // namespace assay::fuzz
