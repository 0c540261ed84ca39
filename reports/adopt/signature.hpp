// SPDX-License-Identifier: Apache-2.0
// A detached signature of a certificate, by ssh-keygen and a key that its author has: certificate.json.sig.
#pragma once

#include <filesystem>
#include <string>

namespace assay {

/// Before anything runs. Throws InputError, one line, if the file is no key, and EnvironmentError if there is
/// no ssh-keygen.
void require_key(const std::string& key);

/// Writes FILE.sig, the signature of the file's text. ssh-keygen may ask for a passphrase. Throws InputError
/// with what it says.
void sign(const std::filesystem::path& file, const std::string& text, const std::string& key);

/// Removes FILE.sig, which is of older contents.
void remove_signature(const std::filesystem::path& file);

struct Signature {
  bool good = false;  // false: no signature, or not one of a signer who was asked for
  std::string words;  // "unsigned"; "signed, not checked: give --signers"; "signed by NAME"; what is wrong
};

/// `text`: of the file, as it was read; the file is not read again. `signers`: a file of allowed signers
/// (ssh-keygen(1)); empty: nothing is checked. `signer`: one of its names; empty: any. Throws InputError if
/// `signers` is no file, and EnvironmentError if there is no ssh-keygen.
Signature signature_of(const std::filesystem::path& file, const std::string& text, const std::string& signers,
                       const std::string& signer);

}  // namespace assay
