// SPDX-License-Identifier: Apache-2.0
// The words of a certificate that reach a command. A certificate is a file from somebody: its words are data,
// and none of them makes this machine run a program that its user has not named.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reports/adopt/certificate.hpp"

namespace assay {

// Where the file of a certificate's kernel lies now. A certificate is read in other folders than it was made
// in.

/// certificate.json of a folder; any other path is the certificate itself.
std::filesystem::path certificate_file(const std::string& word);

/// The word of the certificate with the path where its file is now. Tried are the recorded path in this
/// folder, then in the certificate's folder and those above it; of an absolute path that is gone, its name
/// there. The first file with the certified hash is taken, else the first at all. The word itself if it names
/// no file. Throws InputError, one line that says where it looked, if there is none.
std::string word_now(const Certificate& c, const std::filesystem::path& certificate);

/// What the verifier typed himself. It takes the place of the certificate's.
struct TypedWords {
  std::string kernel;                             // empty: the certificate's word
  std::optional<std::string> nvcc_flags, python;  // --nvcc-flags, --python
  std::optional<double> timeout_seconds;
};

/// The longest timeout of a launch, in seconds, that a certificate may ask for.
inline constexpr double kLongestCertifiedTimeout = 600;

/// The certificate's target as it may be compiled and run: with the typed words, and with the place of the
/// kernel's file. `notes`: where a typed word differs from the certificate's. Throws InputError, one line
/// that says what to type, for compiler flags that are none of the harmless ones
/// (kernels/adapter/toolchain/flags.hpp), an interpreter, a module without a file that could be hashed, a
/// name that is none, and a timeout that is too long. `file`: the certificate's.
CertifiedTarget target_to_verify(const Certificate& c, const std::filesystem::path& file,
                                 const TypedWords& typed, std::vector<std::string>& notes);

}  // namespace assay
