// SPDX-License-Identifier: Apache-2.0
// The engine: what was kept does not run again, the largest begin first, and exclusive units run one at a
// time.
#include "accuracy/engine.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <stdexcept>
#include <thread>

#include "accuracy/record_fields.hpp"

namespace assay {
namespace {

struct Fact {
  int number = 0;
};
template <IsA<Fact> F, class Visit>
void each_field(F& f, Visit& visit) {
  visit("number", f.number);
}

class Engine : public testing::Test {
 protected:
  std::vector<Fact> run(std::vector<RunUnit> units) {
    return facts_of_units<Fact>(units, 2, kept_, [&](std::size_t i) {
      ++runs_[i];
      if (fails_ == static_cast<int>(i)) throw std::runtime_error("interrupted");
      return Fact{static_cast<int>(10 * i)};
    });
  }
  std::map<std::string, nlohmann::json> file_;
  std::mutex mutex_;
  Kept kept_ = {[this](const std::string& name) -> std::optional<nlohmann::json> {
                  const std::lock_guard<std::mutex> lock(mutex_);
                  const auto at = file_.find(name);
                  return at == file_.end() ? std::nullopt : std::optional(at->second);
                },
                [this](const std::string& name, const nlohmann::json& facts) {
                  const std::lock_guard<std::mutex> lock(mutex_);
                  EXPECT_TRUE(file_.emplace(name, facts).second) << name << " was kept twice";
                }};
  std::array<std::atomic<int>, 4> runs_ = {};
  int fails_ = -1;
};

TEST_F(Engine, WhatWasKeptDoesNotRunAgain) {
  const std::vector<RunUnit> units = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}};
  fails_ = 0;
  EXPECT_THROW(run(units), std::runtime_error);
  EXPECT_EQ(file_.size(), 3u) << "the lightest begins last";
  EXPECT_EQ(file_.count("a"), 0u) << "what was interrupted is not finished";
  fails_ = -1;
  const std::vector<Fact> all = run(units);
  for (std::size_t i = 0; i < units.size(); ++i) {
    EXPECT_EQ(all[i].number, static_cast<int>(10 * i));
    EXPECT_EQ(runs_[i], i == 0 ? 2 : 1) << units[i].name;
  }
  file_["c"]["number"] = 7;
  EXPECT_EQ(run(units)[2].number, 7) << "what was kept counts, not what would be made";
}

struct Outcome {
  Status status = Status::pass;
};
template <IsA<Outcome> O, class Visit>
void each_field(O& o, Visit& visit) {
  visit("status", Word(o.status, kStatusNames));
}

TEST_F(Engine, WhatCouldNotRunIsTriedAgain) {
  int runs = 0;
  for (const Status status : {Status::not_run, Status::pass, Status::fail})
    EXPECT_EQ(
        facts_of_units<Outcome>({{"a"}}, 1, kept_, [&](std::size_t) { return Outcome{(++runs, status)}; })[0]
            .status,
        status == Status::fail ? Status::pass : status);
  EXPECT_EQ(runs, 2) << "the second one ran, and was kept";
}

TEST_F(Engine, EachUnitIsToldOnce) {
  std::vector<std::size_t> told;
  file_["b"] = {{"number", 5}};
  facts_of_units<Fact>(
      {{"a"}, {"b"}, {"c"}}, 3, kept_, [](std::size_t) { return Fact{1}; },
      [&](std::size_t i, const Fact& f, std::size_t done) {
        EXPECT_EQ(f.number, i == 1 ? 5 : 1);
        EXPECT_EQ(done, told.size() + 1);
        told.push_back(i);
      });
  std::sort(told.begin(), told.end());
  EXPECT_EQ(told, (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Units, TheLargestBeginFirstAndEqualOnesInOrder) {
  std::vector<std::size_t> order;
  run_units({{"a", 1}, {"b", 5}, {"c", 3}, {"d", 5}}, 1, [&](std::size_t i, int) { order.push_back(i); });
  EXPECT_EQ(order, (std::vector<std::size_t>{1, 3, 2, 0}));
}

TEST(Units, NoTwoExclusiveOnesRunAtTheSameTime) {
  std::vector<RunUnit> units(24);
  for (std::size_t i = 0; i < units.size(); i += 2) units[i].exclusive = true;
  std::atomic<int> now{0}, most{0}, all{0};
  run_units(units, 4, [&](std::size_t i, int) {
    ++all;
    if (!units[i].exclusive) return;
    most = std::max(most.load(), ++now);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    --now;
  });
  EXPECT_EQ(all, 24);
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace assay
