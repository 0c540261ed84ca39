// SPDX-License-Identifier: Apache-2.0
#include "kernels/split/nccl.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <stdexcept>
#include <type_traits>

namespace assay {
namespace {

/// The part of NCCL's C interface that is used. Types and values are those of its documentation.
struct Nccl {
  using Member = void*;
  int (*version)(int*) = nullptr;
  int (*init_all)(Member*, int, const int*) = nullptr;
  int (*destroy)(Member) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, Member, void*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  const char* (*error_text)(int) = nullptr;
  std::string why = {};

  Nccl() {
    void* library = nullptr;
    if (const char* named = std::getenv("ASSAY_NCCL"); named && *named) {
      if (!(library = dlopen(named, RTLD_NOW | RTLD_LOCAL))) {
        why = std::string("ASSAY_NCCL: ") + named + " can not be loaded";
        return;
      }
    } else if (!(library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL))) {
      why = "no libnccl.so.2 is found";
      return;
    }
    const auto find = [&](auto& f, const char* symbol) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(library, symbol));
      if (!f) why = std::string("libnccl.so.2 has no ") + symbol;
    };
    find(version, "ncclGetVersion");
    find(init_all, "ncclCommInitAll");
    find(destroy, "ncclCommDestroy");
    find(all_gather, "ncclAllGather");
    find(group_start, "ncclGroupStart");
    find(group_end, "ncclGroupEnd");
    find(error_text, "ncclGetErrorString");
  }

  void check(int status, const char* what) const {
    if (status != 0) throw std::runtime_error(std::string("NCCL: ") + what + ": " + error_text(status));
  }
};
const Nccl& nccl() {
  static const Nccl one;
  return one;
}

constexpr int kFloat32 = 7;

}  // namespace

std::string nccl_missing() { return nccl().why; }

std::string nccl_version() {
  int v = 0;
  nccl().check(nccl().version(&v), "asking for its version");
  // From 2.9 on the number has two digits more.
  const int major = v < 10000 ? v / 1000 : v / 10000, rest = v < 10000 ? v % 1000 : v % 10000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." + std::to_string(rest % 100);
}

NcclTeam::NcclTeam(const std::vector<int>& devices) : members_(devices.size()) {
  nccl().check(nccl().init_all(members_.data(), static_cast<int>(devices.size()), devices.data()),
               "bringing the GPUs together");
}

NcclTeam::~NcclTeam() {
  for (void* m : members_) nccl().destroy(m);
}

void NcclTeam::all_gather(const std::vector<float*>& all, std::size_t floats,
                          const std::vector<void*>& streams) const {
  const Nccl& n = nccl();
  n.check(n.group_start(), "starting a group");
  int status = 0;
  for (std::size_t i = 0; i < members_.size() && status == 0; ++i)
    status = n.all_gather(all[i] + i * floats, all[i], floats, kFloat32, members_[i], streams[i]);
  const int ended = n.group_end();
  n.check(status, "gathering");
  n.check(ended, "gathering");
}

}  // namespace assay
