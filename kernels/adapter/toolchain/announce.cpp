// SPDX-License-Identifier: Apache-2.0
#include "kernels/adapter/toolchain/announce.hpp"

#include <cstdio>
#include <mutex>
#include <utility>

namespace assay {
namespace {

/// A race checker is compiled while other threads work.
struct Watcher {
  std::mutex lock;
  Announce to;
};
Watcher& watcher() {
  static Watcher w;
  return w;
}

void tell(const std::string& what) {
  const std::lock_guard<std::mutex> lock(watcher().lock);
  if (watcher().to) watcher().to(what);
}

}  // namespace

void announce_compilation(Announce to) {
  const std::lock_guard<std::mutex> lock(watcher().lock);
  watcher().to = std::move(to);
}

void note_of_compilation(const std::string& line) {
  tell({});  // so that it begins a line
  std::fprintf(stderr, "assay: %s\n", line.c_str());
}

Announced::Announced(const std::string& what) { tell("compiling " + what); }
Announced::~Announced() { tell({}); }

}  // namespace assay
