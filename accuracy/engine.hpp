// SPDX-License-Identifier: Apache-2.0
// The engine of every long run: check, report, selftest, functions, utilisation, sweep and the steps of
// adopt. A run is a list of units. Facts are kept under a name as soon as they are made, so that a run that
// goes on after an interruption need not make them again.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/record.hpp"
#include "reference/fields.hpp"
#include "reference/parallel.hpp"

namespace assay {

/// Where finished facts are kept. Both are called from any thread. If they are empty, nothing is kept.
struct Kept {
  /// What an earlier run kept under this name; each is returned once.
  std::function<std::optional<nlohmann::json>(const std::string& name)> take = {};
  std::function<void(const std::string& name, const nlohmann::json& facts)> add = {};
};

struct RunUnit {
  std::string name = {};
  double weight = 1;       // roughly its time: the largest begin first, equal ones in order
  bool exclusive = false;  // never runs beside another exclusive unit: it times, or keeps state
};

/// Runs the units on so many threads (0: one per core). body(i, worker) and begin(worker) are those of
/// parallel_for_workers; `i` is the unit's place in the list.
inline void run_units(const std::vector<RunUnit>& units, int threads,
                      const std::function<void(std::size_t i, int worker)>& body,
                      const std::function<bool(int worker)>& begin = {}) {
  std::mutex one_is_exclusive;
  const auto order = largest_first(units.size(), [&](std::size_t i) { return units[i].weight; });
  parallel_for_workers(
      order.size(), threads,
      [&](std::size_t n, int worker) {
        std::unique_lock<std::mutex> alone(one_is_exclusive, std::defer_lock);
        if (units[order[n]].exclusive) alone.lock();
        body(order[n], worker);
      },
      begin);
}

struct NothingToTell {
  void operator()(auto&&...) const {}
};

/// True of facts that say nothing: of a unit that could not run.
template <class Facts>
bool not_run(const Facts& f) {
  if constexpr (requires { f.status == Status::not_run; }) return f.status == Status::not_run;
  return false;
}

/// The facts of every unit: as they were kept, or as make(i) makes them now; then they are kept, unless it
/// could not run: then it is tried again.
/// `told(i, facts, done)` is called after each unit, one call at a time.
template <class Facts, class Make, class Told = NothingToTell>
std::vector<Facts> facts_of_units(const std::vector<RunUnit>& units, int threads, const Kept& kept,
                                  Make&& make, Told&& told = {}) {
  std::vector<Facts> all(units.size());
  std::mutex mutex;
  std::size_t done = 0;
  run_units(units, threads, [&](std::size_t i, int) {
    if (const auto earlier = kept.take ? kept.take(units[i].name) : std::nullopt) {
      all[i] = fields_from_json<Facts>(*earlier);
    } else {
      all[i] = make(i);
      if (kept.add && !not_run(all[i])) kept.add(units[i].name, fields_to_json(all[i]));
    }
    const std::lock_guard<std::mutex> lock(mutex);
    told(i, all[i], ++done);
  });
  return all;
}

}  // namespace assay
