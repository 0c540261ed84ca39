// SPDX-License-Identifier: Apache-2.0
// The worker's loop as a library that Python loads. It serves the supervisor, and calls Python to import and
// to launch. Once it serves, the interpreter runs no Python code but the callable's: what holds the callable,
// what makes its tensors and what copies its results is native. The command's binary contains it
// (python_kernel.hpp).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "kernels/fault_kind.hpp"
#include "kernels/isolation/worker/loop.hpp"
#include "kernels/isolation/worker/plugin_library.hpp"
#include "kernels/plugin.h"
#include "kernels/python/worker/kernel.hpp"
#include "kernels/python/worker/warm.hpp"
#include "reference/problem.hpp"

namespace assay::isolation {
namespace {

using python::Failure;
using python::Gil;
using python::py;

/// What a thread's last call said when it failed.
thread_local Failure said;

/// The target as its import has left it: a kernel, or why there is none.
struct Imported {
  python::Words words;
  std::unique_ptr<python::Kernel> kernel;
  std::unique_ptr<python::Framework> framework;
  std::unique_ptr<python::Target> target;
  std::string signature;  // read by another process
  python::Description description;
  std::optional<Failure> failed;
};
Imported& imported() {
  static Imported one;
  return one;
}

/// Leaves the reason in `failed`. Uses no device.
void import_target() {
  Imported& i = imported();
  try {
    i.target = std::make_unique<python::Target>(i.words);
  } catch (const Failure& f) {
    i.failed = f;
  }
}

/// For a process that launches nothing.
std::string read_signature() {
  try {
    return python::read_signature(python::Target(imported().words));
  } catch (const Failure&) {
    return {};  // a worker says why, when it imports the target
  }
}

/// Calls `work` with the interpreter's lock. Returns a status, as an entry of a plugin does.
template <class Work>
int reported(Work work) {
  const Gil gil;
  try {
    work();
    return 0;
  } catch (const Failure& f) {
    said = f;
    return 1;
  }
}

std::int32_t run(const assay_call* call) {
  return reported([&] { imported().kernel->run(*call); });
}

/// A callable: its variants have the layout of a plugin, and its faults have its own words.
class PythonKernels : public PluginLibrary {
 public:
  bool interpreted() const override { return true; }
  void begin_timed() const override {
    reported([] { imported().kernel->begin_timed(); });
  }
  Said end_timed() const override {
    const int status = reported([] { imported().kernel->end_timed(); });
    return status == 0 ? Said{} : said_of(status);
  }

 protected:
  Said said_of(std::int32_t) const override {
    return {said.text, parse_fault_kind(said.kind).value_or(FaultKind::other)};
  }
};

/// The device of the callable's tensors.
int device_of(const Imported& i) {
  const std::string &kind = i.description.tensors, &runs_on = i.description.device;
  if (i.words.where == "host" || runs_on == "host" || kind == "numpy") return python::kHost;
  if (runs_on == "cuda") return python::kCuda;
  const bool asks = kind == "torch" || kind == "jax";
  return asks && i.words.where == "gpu" && i.framework->has_gpu() ? python::kCuda : python::kHost;
}

/// A plugin with a variant for each pair of types. It is never freed.
const assay_plugin* plugin_of(const Imported& i, int device) {
  struct Kept {
    std::deque<std::string> texts;
    std::vector<assay_variant> variants;
    assay_plugin plugin{};
  };
  auto* const kept = new Kept;
  const auto keep = [&](std::string text) { return kept->texts.emplace_back(std::move(text)).c_str(); };
  std::istringstream pairs(i.words.pairs);
  for (std::string pair; pairs >> pair;) {
    const std::string taken = pair.substr(0, pair.find(':'));
    const std::string given = pair.size() > taken.size() ? pair.substr(taken.size() + 1) : taken;
    for (const std::string& type : {taken, given}) i.framework->check_dtype(type);
    for (const CallableArgument& a : i.description.arguments)
      if (!a.type.empty()) i.framework->check_dtype(a.type);
    assay_variant v{};
    v.struct_size = sizeof v;
    v.op = static_cast<std::int32_t>(i.description.op);
    v.name = keep(i.words.name);
    v.in_dtype = keep(taken);
    v.out_dtype = keep(given);
    v.device_type = device;
    v.run = run;
    // torch.tensor([3, 5]) is int64. JAX has int64 only on request.
    v.operands = keep(
        callable_operands(i.description.arguments, taken, i.description.tensors == "jax" ? "i32" : "i64"));
    kept->variants.push_back(v);
  }
  kept->plugin = {sizeof(assay_plugin), ASSAY_ABI_VERSION, sizeof(assay_variant),
                  static_cast<std::uint32_t>(kept->variants.size()), kept->variants.data()};
  return &kept->plugin;
}

std::unique_ptr<WorkerKernels> open_python(Loaded& loaded) {
  auto kernels = std::make_unique<PythonKernels>();
  const int status = reported([&] {
    Imported& i = imported();
    if (!i.target && !i.failed) import_target();
    if (i.failed) throw *i.failed;
    i.description = python::describe(i.signature, i.words);
    i.framework = python::framework_of(i.description.tensors);
    const int device = device_of(i);
    const assay_plugin* const plugin = plugin_of(i, device);
    const std::string version = py.Py_GetVersion();
    loaded.made_of.set("CPython " + version.substr(0, version.find(' ')) + ", " + i.framework->version() +
                       ", " + (device == python::kHost ? "host" : "device") + " memory" +
                       callable_read_as(i.description.arguments));
    i.kernel = std::make_unique<python::Kernel>(std::move(i.target), std::move(i.description),
                                                std::move(i.framework));
    loaded.error.set(kernels->read(plugin));
  });
  if (status != 0) {
    loaded.lacks = said.kind == "lacks";
    loaded.error.set(said.raised.empty() ? said.text : said.raised);
  }
  return kernels;
}

std::string bytes_of(int descriptor) {
  struct stat s {};
  std::string all;
  if (fstat(descriptor, &s) != 0) return all;
  all.resize(static_cast<std::size_t>(s.st_size));
  std::size_t done = 0;
  for (ssize_t n = 1; done < all.size() && n > 0; done += n > 0 ? static_cast<std::size_t>(n) : 0)
    n = pread(descriptor, all.data() + done, all.size() - done, static_cast<off_t>(done));
  return all;
}

/// Speaks to whoever looks at what the process has printed.
[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  _exit(1);
}

}  // namespace
}  // namespace assay::isolation

/// Serves until the supervisor is gone, and ends the process. `forks`: it forks workers, and does not serve
/// itself. The caller holds the interpreter's lock. Does nothing if it was called before.
extern "C" ASSAY_EXPORT void python_main(int forks) {
  using namespace assay;
  using namespace assay::isolation;
  static std::atomic<bool> called{false};
  if (called.exchange(true)) return;
  if (const char* const lacks = python::load_api())
    give_up(std::string("this interpreter has no ") + lacks + ": CPython 3.8 or later is needed");
  const std::optional<python::Words> words = python::read_words(bytes_of(kLibrary));
  if (!words) give_up("its words are missing");
  imported().words = *words;
  confine();
  try {
    python::keep_builtins();
    python::watch_opened();
    python::import_first(*words, forks != 0);
    imported().signature = forks ? python::fork_workers(read_signature, import_target)
                                 : python::look_at_import(read_signature).signature;
  } catch (const Failure& f) {
    give_up(f.text);
  }
  auto* const lock = py.PyEval_SaveThread();
  const int status = serve([](const Load&, Loaded& loaded) { return open_python(loaded); }, true);
  (void)lock;
  // Do not wait for threads that the callable left running.
  _exit(status);
}
