// SPDX-License-Identifier: Apache-2.0
#include "reports/adopt/signature.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include "kernels/adapter/toolchain/toolchain.hpp"
#include "kernels/isolation/process/child.hpp"
#include "reference/error.hpp"
#include "reference/paths.hpp"
#include "reports/data/files.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNamespace = "assay@certificate";

fs::path signature_file(const fs::path& file) { return file.string() + ".sig"; }

/// A file that has no name: nobody else can put another one, or a link, in its place.
class Unnamed {
 public:
  explicit Unnamed(const std::string& text = {}) : file_(memfd_create("ssh-keygen", MFD_CLOEXEC)) {
    const auto size = static_cast<ssize_t>(text.size());
    if (file_ < 0 || pwrite(file_, text.data(), text.size(), 0) != size) throw_unwritten("ssh-keygen", errno);
  }
  ~Unnamed() { close(file_); }
  Unnamed(const Unnamed&) = delete;
  Unnamed& operator=(const Unnamed&) = delete;
  int file() const { return file_; }
  std::string text() const {
    std::string all;
    char part[4096];
    for (ssize_t n = 0; (n = pread(file_, part, sizeof part, static_cast<off_t>(all.size()))) > 0;)
      all.append(part, static_cast<std::size_t>(n));
    return all;
  }

 private:
  int file_;
};

/// What ssh-keygen writes, and whether it ends well.
struct Said {
  bool well = false;
  std::string out;
  std::string line;  // the first that it says, of what is wrong if anything is
};

Said ssh_keygen(std::vector<std::string> words, const std::string& input = {}) {
  const std::string program = program_in_path("ssh-keygen");
  if (program.empty())
    throw EnvironmentError("ssh-keygen: it is not installed (Debian: apt-get install openssh-client)");
  words.insert(words.begin(), program);
  const Unnamed in(input), out, wrong;
  pid_t pid = 0;
  if (const int error = isolation::start(
          {.words = words, .descriptors = {{in.file(), 0}, {out.file(), 1}, {wrong.file(), 2}}}, pid))
    throw InputError(program + ": cannot be started: " + std::strerror(error));
  const bool well = isolation::status_of(pid) == 0;
  const std::string written = out.text(), said = wrong.text() + written;
  return {well, written, said.substr(0, said.find_first_of("\r\n"))};
}

}  // namespace

void require_key(const std::string& key) {
  const Said said = ssh_keygen({"-l", "-f", key});
  if (!said.well) throw InputError("--sign " + key + ": " + said.line);
}

void sign(const fs::path& file, const std::string& text, const std::string& key) {
  const Said said = ssh_keygen({"-q", "-Y", "sign", "-n", kNamespace, "-f", key}, text);
  if (!said.well) throw InputError("--sign " + key + ": " + said.line);
  write_files({{signature_file(file), said.out}});
}

void remove_signature(const fs::path& file) {
  std::error_code none;
  fs::remove(signature_file(file), none);
}

Signature signature_of(const fs::path& file, const std::string& text, const std::string& signers,
                       const std::string& signer) {
  const std::string signature = signature_file(file).string();
  std::error_code none;
  if (!signers.empty() && !fs::is_regular_file(signers, none))
    throw InputError("--signers " + signers + ": no such file");
  if (!fs::is_regular_file(signature, none)) return {false, "unsigned"};
  if (signers.empty()) return {false, "signed, not checked: give --signers"};
  std::string name = signer;
  if (name.empty()) {
    const Said found = ssh_keygen({"-Y", "find-principals", "-s", signature, "-f", signers});
    if (!found.well) return {false, signature + ": it is of no signer of " + signers + ": " + found.line};
    name = found.out.substr(0, found.out.find_first_of(",\r\n"));
  }
  const Said checked =
      ssh_keygen({"-Y", "verify", "-n", kNamespace, "-f", signers, "-I", name, "-s", signature}, text);
  if (!checked.well) return {false, signature + ": it is no signature of " + name + ": " + checked.line};
  return {true, "signed by " + name};
}

}  // namespace assay
