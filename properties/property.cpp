// SPDX-License-Identifier: Apache-2.0
#include "properties/property.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

namespace assay {
namespace {

constexpr int kFloor = 100;  // a required class of input must be in one of this many cases

rc::detail::TestParams parameters() {
  rc::detail::Configuration defaults;
  defaults.testParams.seed = 20180508;
  const char* asked = std::getenv("RC_PARAMS");
  return rc::detail::configFromString(asked ? asked : "", defaults).testParams;
}

/// Number of cases by tag. A case that carries a tag twice counts once.
std::map<std::string, int> count_tags(const rc::detail::SuccessResult& success) {
  std::map<std::string, int> seen;
  for (const auto& [tags, count] : success.distribution)
    for (const std::string& tag : std::set<std::string>(tags.begin(), tags.end())) seen[tag] += count;
  return seen;
}

}  // namespace

Outcome try_out(const Trial& trial, const std::function<void()>& body) {
  using namespace rc::detail;
  TestParams params = parameters();
  params.maxSuccess = params.maxSuccess * trial.cases / 100;  // RapidCheck's own default is 100
  params.disableShrinking = params.disableShrinking || !trial.shrink;
  TestListenerAdapter quiet;
  const TestResult result =
      checkTestable([&] { body(); }, TestMetadata{trial.property, trial.property}, params, quiet);
  const std::string head = fmt::format("property {} of {}", trial.property, trial.subject);
  Outcome outcome;
  if (!result.is<SuccessResult>()) {
    std::ostringstream text;
    printResultMessage(result, text);
    outcome.failure =
        fmt::format("{}: {}\nreproduce with RC_PARAMS=\"seed={}\"", head, text.str(), params.seed);
    return outcome;
  }
  const auto& success = result.get<SuccessResult>();
  const std::map<std::string, int> seen = count_tags(success);
  outcome.coverage = fmt::format("{}, {} cases:", head, success.numSuccess);
  for (const auto& [tag, count] : seen)
    outcome.coverage += fmt::format(" {} {:.1f} %,", tag, 100.0 * count / success.numSuccess);
  outcome.coverage.back() = seen.empty() ? ':' : '.';
  for (const std::string& tag : trial.must_appear) {
    const auto at = seen.find(rc::toString(tag));
    const int count = at == seen.end() ? 0 : at->second;
    if (count * kFloor < success.numSuccess && outcome.failure.empty())
      outcome.failure = fmt::format(
          "{}: the class of input \"{}\" appeared in {} of {} cases, fewer than 1 in {}: it was not tested "
          "(seed {})",
          head, tag, count, success.numSuccess, kFloor, params.seed);
  }
  return outcome;
}

Outcome outcome_of(const Property& property, const Algebra& algebra, bool shrink) {
  Trial trial{property.name, std::string(algebra.name) + "@" + name(algebra.backend), 100 * property.cases,
              property.must_appear, shrink};
  if (algebra.format == Dtype::f32)
    trial.must_appear.insert(trial.must_appear.end(), property.must_appear_in_f32.begin(),
                             property.must_appear_in_f32.end());
  return try_out(trial, [&] { property.check(algebra); });
}

}  // namespace assay
