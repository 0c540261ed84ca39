// SPDX-License-Identifier: Apache-2.0
// The links between the pages of a folder. A page is written before it is known which others will lie beside
// it: a sweep may come weeks after the report. So the links are put into finished pages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay {

/// The text of a page with links to `names`, the pages of its folder. `self` is the page's own name, or ""
/// for a page in kernels/, whose links lead one folder up. A page that holds no place for links stays as it
/// is.
std::string with_links(std::string html, const std::vector<std::string>& names, const std::string& self);

/// Links all pages of a folder and of its kernels/ with each other; with those of a check in check/, and of
/// the folder above, if it has an index.html or a certificate.html. Throws InputError that names a file that
/// cannot be read or written.
void link_pages(const std::filesystem::path& folder);

}  // namespace assay
