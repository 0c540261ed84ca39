// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/signature.hpp"

#include <system_error>
#include <vector>

#include "kernels/adapter/toolchain/toolchain.hpp"
#include "reference/error.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNamespace = "assay@certificate";

fs::path signature_file(const fs::path& file) { return file.string() + ".sig"; }

/// What ssh-keygen says, and whether it ends well.
struct Said {
  bool well = false;
  std::string line;  // the first
};

Said ssh_keygen(std::vector<std::string> words, const fs::path& log, const std::string& input = "/dev/null") {
  const std::string program = program_in_path("ssh-keygen");
  if (program.empty())
    throw EnvironmentError("ssh-keygen: it is not installed (Debian: apt-get install openssh-client)");
  words.insert(words.begin(), program);
  const bool well = run_program(words, log.string(), input) == 0;
  const std::string text = read_file(log);
  std::error_code none;
  fs::remove(log, none);
  return {well, text.substr(0, text.find_first_of("\r\n"))};
}

}  // namespace

void require_key(const std::string& key, const fs::path& scratch) {
  const Said said = ssh_keygen({"-l", "-f", key}, scratch / "ssh-keygen.log");
  if (!said.well) throw InputError("--sign " + key + ": " + said.line);
}

void sign(const fs::path& file, const std::string& key) {
  remove_signature(file);
  const Said said =
      ssh_keygen({"-Y", "sign", "-n", kNamespace, "-f", key, file.string()}, file.string() + ".log");
  if (!said.well) throw InputError("--sign " + key + ": " + said.line);
}

void remove_signature(const fs::path& file) {
  std::error_code none;
  fs::remove(signature_file(file), none);
}

Signature signature_of(const fs::path& file, const std::string& signers, const std::string& signer,
                       const fs::path& scratch) {
  const std::string signature = signature_file(file).string();
  std::error_code none;
  if (!signers.empty() && !fs::is_regular_file(signers, none))
    throw InputError("--signers " + signers + ": no such file");
  if (!fs::is_regular_file(signature, none)) return {false, "unsigned"};
  if (signers.empty()) return {false, "signed, not checked: give --signers"};
  const fs::path log = scratch / "ssh-keygen.log";
  std::string name = signer;
  if (name.empty()) {
    const Said found = ssh_keygen({"-Y", "find-principals", "-s", signature, "-f", signers}, log);
    if (!found.well) return {false, signature + ": it is of no signer of " + signers + ": " + found.line};
    name = found.line.substr(0, found.line.find(','));
  }
  const Said checked = ssh_keygen(
      {"-Y", "verify", "-n", kNamespace, "-f", signers, "-I", name, "-s", signature}, log, file.string());
  if (!checked.well) return {false, signature + ": it is no signature of " + name + ": " + checked.line};
  return {true, "signed by " + name};
}

}  // namespace assay
