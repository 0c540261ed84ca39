// SPDX-License-Identifier: Apache-2.0
// All pages of a folder, from what lies in it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reports/runs/folder.hpp"

namespace assay {

struct FolderPages {
  std::vector<std::string> written;  // "index.html"; empty if the folder holds no facts
  std::unique_ptr<RecordedRun> run;  // null without records of cases
};
/// Says where the pages are. `threads`: 0 is one per core. `only`: of this file alone; empty: of all. Throws
/// InputError that names a broken file.
FolderPages make_pages(const std::filesystem::path& folder, int threads = 0, std::string_view only = {});

}  // namespace assay
