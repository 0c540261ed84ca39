#include "properties/property.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>
#include <rapidcheck/detail/TestListenerAdapter.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace assay {
namespace {

rc::detail::TestParams parameters() {
  rc::detail::Configuration defaults;
  defaults.testParams.seed = 20180508;
  const char* asked = std::getenv("RC_PARAMS");
  return rc::detail::configFromString(asked ? asked : "", defaults).testParams;
}

}  // namespace

std::string failure_of(const Property& property, const Algebra& algebra, bool shrink) {
  using namespace rc::detail;
  TestParams params = parameters();
  params.maxSuccess *= property.cases;
  params.disableShrinking = params.disableShrinking || !shrink;
  TestListenerAdapter quiet;
  const TestResult result = checkTestable([&] { property.check(algebra); },
                                          TestMetadata{property.name, property.name}, params, quiet);
  if (!result.is<SuccessResult>()) {
    std::ostringstream text;
    printResultMessage(result, text);
    text << "\nreproduce with RC_PARAMS=\"seed=" << params.seed << "\"";
    return text.str();
  }
  const auto& success = result.get<SuccessResult>();
  for (const std::string& tag : property.must_appear) {
    int seen = 0;
    for (const auto& [tags, count] : success.distribution)
      if (std::find(tags.begin(), tags.end(), rc::toString(tag)) != tags.end()) seen += count;
    if (seen * 100 < success.numSuccess)
      return fmt::format("only {} of {} cases were \"{}\" (seed {})", seen, success.numSuccess, tag,
                         params.seed);
  }
  return {};
}

}  // namespace assay
