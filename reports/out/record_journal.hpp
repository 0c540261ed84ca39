// SPDX-License-Identifier: Apache-2.0
// The records of a report or a check in the journal of its --out folder.
#pragma once

#include <functional>

#include "accuracy/conformance/conformance.hpp"
#include "reports/out/journal.hpp"

namespace assay {

class RecordJournal final : public conformance::Keeper {
 public:
  /// `again`: true for cases that are made again although their record is known; may be empty.
  explicit RecordJournal(Journal& journal,
                         std::function<bool(const conformance::ConformanceCase&)> again = {});
  std::optional<Record> earlier(const std::string& run_name, const conformance::ConformanceCase& c,
                                const Record& blank) override;
  void keep(const std::string& run_name, const Record& blank, const Record& made) override;

 private:
  Journal& journal_;
  const std::function<bool(const conformance::ConformanceCase&)> again_;
};

}  // namespace assay
