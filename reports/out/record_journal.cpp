// SPDX-License-Identifier: Apache-2.0
#include "reports/out/record_journal.hpp"

#include <nlohmann/json.hpp>

namespace assay {
namespace {

std::string name_of(const std::string& run_name, const Record& blank) {
  return run_name + "|" + identity(blank);
}

}  // namespace

RecordJournal::RecordJournal(Journal& journal, std::function<bool(const conformance::ConformanceCase&)> again)
    : journal_(journal), again_(std::move(again)) {}

std::optional<Record> RecordJournal::earlier(const std::string& run_name,
                                             const conformance::ConformanceCase& c, const Record& blank) {
  const std::optional<nlohmann::json> j = journal_.take(name_of(run_name, blank));
  if (!j || (again_ && again_(c))) return {};
  return record_from_json(*j);
}

void RecordJournal::keep(const std::string& run_name, const Record& blank, const Record& made) {
  journal_.add(name_of(run_name, blank), to_json(made));
}

}  // namespace assay
