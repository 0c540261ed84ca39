// SPDX-License-Identifier: Apache-2.0
// Folders that a kernel finds empty: what a run writes into them (a journal, records, a certificate) tells it
// whether it is judged, and how far the run is.
#pragma once

#include <string>
#include <vector>

namespace assay::isolation {

/// Workers that start from now on find this folder empty, but for what they load (sandbox_shows). A folder
/// that `assay` runs in, or that they load from, is not hidden.
void sandbox_hides(const std::string& folder);

/// The folders that are to be hidden and are there, without symbolic links.
std::vector<std::string> hidden_folders();

/// The words of `bwrap` that hide them. They come behind all that makes its file system.
std::vector<std::string> hiding_words();

/// The words of a confinement that keep their files from being read. They come behind its first three.
std::vector<std::string> unreadable_words();

}  // namespace assay::isolation
