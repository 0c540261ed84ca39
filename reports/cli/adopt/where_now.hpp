// SPDX-License-Identifier: Apache-2.0
// Where the file of a certificate's kernel lies now. A certificate is read in other folders than it was made
// in.
#pragma once

#include <filesystem>
#include <string>

#include "reports/adopt/certificate.hpp"

namespace assay {

/// certificate.json of a folder; any other path is the certificate itself.
std::filesystem::path certificate_file(const std::string& word);

/// The word of the certificate with the path where its file is now. Tried are the recorded path in this
/// folder, then in the certificate's folder and those above it; of an absolute path that is gone, its name
/// there. The first file with the certified hash is taken, else the first at all. The word itself if it names
/// no file. Throws InputError, one line that says where it looked, if there is none.
std::string word_now(const Certificate& c, const std::filesystem::path& certificate);

}  // namespace assay
