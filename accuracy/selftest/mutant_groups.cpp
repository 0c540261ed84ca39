// SPDX-License-Identifier: Apache-2.0
#include "accuracy/selftest/mutant_groups.hpp"

#include <algorithm>

#include "accuracy/conformance/conformance.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"

namespace assay {

std::vector<Record> run_group(const Mutant& m, std::string& reason) {
  const Expect& e = m.expect;
  const auto all = conformance::groups();
  if (std::none_of(all.begin(), all.end(),
                   [&](const conformance::Group& g) { return g.name == std::string_view(e.group); })) {
    reason = std::string("no group ") + e.group;
    return {};
  }
  conformance::ConformanceOptions options;
  options.only = {e.group};
  options.extent = conformance::Extent::quick;
  options.narrow.setup = e.setup;
  if (e.rows > 0) options.narrow.rows = e.rows, options.narrow.V = e.V;
  options.threads = 1;
  try {
    // A machine that runs every entry at once is slow. Other entries test whether a hang is found.
    IsolationOptions patient;
    patient.timeout_seconds = 120;
    return conformance::run_conformance([&] { return isolated(m.variant, patient); }, options).records;
  } catch (const InputError& error) {
    reason = error.what();
    return {};
  }
}

}  // namespace assay
