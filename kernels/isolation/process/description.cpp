// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/process/description.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <mutex>
#include <utility>

#include "reference/hash/sha256.hpp"

namespace assay::isolation {
namespace {

/// The file's identity: that of one that was written or replaced is another. Empty for a module.
std::string identity_of(const std::string& file) {
  struct stat s {};
  if (stat(file.c_str(), &s) != 0) return {};
  return fmt::format("{} {} {} {}.{}", s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

}  // namespace

Description::Description(std::vector<Described> of) : entries(std::move(of)) {
  Sha256 hash;
  const auto add = [&](const std::string& text) { hash.add(text + '\n'); };
  for (const Described& d : entries) {
    add(fmt::format("{} {} {} {}", d.op, d.device_type, d.needs_workspace, d.takes_schedule));
    add(d.name.get());
    add(d.in.get() + " " + d.out.get());
    add(d.operands.get());
    const std::string declaration = d.declaration.get();
    add(std::to_string(declaration.size()));
    add(declaration);
  }
  sha256 = hash.hex();
}

std::shared_ptr<const Description> first_description(const std::string& file, const std::string& sha256,
                                                     const std::vector<std::string>& command,
                                                     std::shared_ptr<const Description> now) {
  static std::mutex mutex;
  static std::map<std::vector<std::string>, std::shared_ptr<const Description>> all;
  std::vector<std::string> key = command;
  key.push_back(file);
  key.push_back(sha256.empty() ? identity_of(file) : sha256);
  const std::lock_guard<std::mutex> lock(mutex);
  return all.try_emplace(std::move(key), std::move(now)).first->second;
}

}  // namespace assay::isolation
