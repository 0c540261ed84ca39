#include "kernels/isolation/isolated.hpp"

#include "kernels/isolation/launcher.hpp"
#include "reference/error.hpp"

namespace assay {

Variant isolated(const Variant& registered, const IsolationOptions& options) {
  if (registered.launcher) return registered;
  auto supervisor =
      std::make_shared<isolation::Supervisor>(isolation::Subject{false, registered.key()}, options);
  supervisor->load();
  Variant v = registered;
  v.launcher =
      std::make_shared<isolation::WorkerLauncher>(supervisor, 0, v.backend == Backend::cuda, v.own_stream);
  v.run = {};
  return v;
}

}  // namespace assay
