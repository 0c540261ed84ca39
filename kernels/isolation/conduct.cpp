// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/conduct.hpp"

#include <map>
#include <mutex>

namespace assay::isolation {
namespace {

struct Ends {
  std::mutex mutex;
  std::map<std::string, int> of;
};
Ends& ends() {
  static Ends all;
  return all;
}

}  // namespace

int count_unexplained_end(const std::string& kernel) {
  const std::lock_guard<std::mutex> lock(ends().mutex);
  return ++ends().of[kernel];
}

void forget_unexplained_ends() {
  const std::lock_guard<std::mutex> lock(ends().mutex);
  ends().of.clear();
}

}  // namespace assay::isolation
