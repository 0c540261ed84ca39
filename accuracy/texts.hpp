// SPDX-License-Identifier: Apache-2.0
// A record's members that are sentences for people. Nothing may decide by them. To show it, a build with
// -DASSAY_X_TEXTS=ON holds "x" in each of them: verdicts, contracts and exit statuses must be the same there
// (reports/publish/golden.py --facts).
#pragma once

#include "accuracy/record.hpp"

namespace assay {

/// Replaces each sentence by "x". What is empty stays so: that there is nothing to say is a fact.
void replace_texts(Record& r);

/// Does so in a build with ASSAY_X_TEXTS, and nothing in others. Every record of `check` and `report` passes
/// here.
void finish_texts(Record& r);

}  // namespace assay
