// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/isolated.hpp"

#include "kernels/isolation/candidates.hpp"
#include "kernels/isolation/launcher.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "reference/error.hpp"

namespace assay {

Variant isolated(const Variant& registered, const IsolationOptions& options) {
  if (registered.launcher) return registered;
  auto supervisor =
      std::make_shared<isolation::Supervisor>(isolation::Subject{false, registered.key()}, options);
  supervisor->load();
  const std::vector<const Variant*> all = same_kernel(registered.key());
  auto entries = std::make_shared<std::vector<isolation::Entry>>();
  std::uint32_t entry = 0;
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    entries->push_back({*all[i], i, all[i]->backend == Backend::cuda});
    entries->back().variant.run = {};
    if (all[i]->key() == registered.key()) entry = i;
  }
  Variant v = registered;
  v.launcher = std::make_shared<isolation::WorkerLauncher>(supervisor, entry, v.backend == Backend::cuda,
                                                           v.own_stream, std::move(entries));
  v.run = {};
  return v;
}

void want_sandbox(bool wants) { isolation::sandbox_wanted() = wants; }

bool wants_sandbox() { return isolation::sandbox_wanted(); }

std::vector<std::string> sandbox_of_programs() { return isolation::program_words(); }

std::string why_not_sandboxed() {
  // With a GPU there are workers of both kinds.
  for (const isolation::Reach reach : {isolation::Reach::host, isolation::widest_reach()})
    if (isolation::guard_of(reach) == Guard::none) return isolation::guard_words(reach);
  return {};
}

std::string held_by() {
  using isolation::Reach;
  const std::string host = isolation::guard_words(Reach::host),
                    widest = isolation::guard_words(isolation::widest_reach());
  return host == widest ? host : host + "; where a GPU is used: " + widest;
}

}  // namespace assay
