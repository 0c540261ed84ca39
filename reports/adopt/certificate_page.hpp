// SPDX-License-Identifier: Apache-2.0
// What people see of a certificate: one page, and a badge for a README.
#pragma once

#include <string>

#include "reports/adopt/certificate.hpp"

namespace assay {

/// certificate.html, without links to anything but what lies beside it.
std::string render_certificate_page(const Certificate& c);

/// "PASS on the CPU; sandbox: bubblewrap": the verdict as the badge, the page and the terminal begin with it.
std::string badge_words(const Certificate& c);
/// badge.svg; needs no network.
std::string render_badge(const Certificate& c);
/// The line of Markdown that shows badge.svg and leads to the page, both in `folder`.
std::string badge_line(const Certificate& c, const std::string& folder);

/// The first lines on a terminal: the verdict, then what ran, then what was not proved.
std::string render_certificate_terminal(const Certificate& c);

}  // namespace assay
