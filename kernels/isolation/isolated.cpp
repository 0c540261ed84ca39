// SPDX-License-Identifier: Apache-2.0
#include "kernels/isolation/isolated.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "kernels/declaration.hpp"
#include "kernels/isolation/launcher.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/mutants/mutants.hpp"
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

// load_plugin: turns what a shared object declares into variants. Only a worker loads the object.

namespace {

/// Splits "path#name", unless a file with exactly that name exists.
std::pair<std::string, std::string> split(const std::string& text) {
  std::error_code ignored;
  const std::size_t at = text.rfind('#');
  if (at == std::string::npos || std::filesystem::exists(text, ignored)) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string types_of(const Variant& v) {
  std::string types = name(v.dtype);
  if (v.out() != v.dtype) types += std::string(":") + name(v.out());
  return types;
}

Variant variant_of(const isolation::Described& d) {
  Variant v;
  v.variant = d.name.get();
  v.backend = Backend::plugin;
  v.op = static_cast<Op>(d.op);
  // The worker has checked these fields, but it has run foreign code since.
  const auto in = parse_dtype(d.in.get()), out = parse_dtype(d.out.get());
  if (!in || !out || d.op < 0 || d.op >= std::ssize(kOpTable))
    throw InputError("changed its own description while it was read");
  v.dtype = *in;
  if (*out != *in) v.out_dtype = *out;
  v.max_k = selects(v.op) ? kUndeclaredK : 0;
  v.claim = undeclared_claim(v.op);
  v.limits = undeclared_limits();
  v.writes_normalizer = false;
  v.declared = false;
  v.on_executor = d.takes_schedule != 0;
  const auto operands = parse_operands(d.operands.get());
  if (!operands) throw InputError("changed its own description while it was read");
  v.operands = *operands;
  try {
    apply_declaration(d.declaration.get(), v);
  } catch (const InputError& e) {
    throw InputError(fmt::format("variant '{}': {}", v.variant, e.what()));
  }
  return v;
}

}  // namespace

namespace isolation {

std::vector<Variant> variants_of(const std::shared_ptr<Supervisor>& supervisor, const std::string& shown) {
  const std::uint32_t count = supervisor->load();

  std::vector<Variant> all;
  auto entries = std::make_shared<std::vector<Entry>>();
  std::set<std::string> keys;
  for (std::uint32_t entry = 0; entry < count; ++entry) {
    const Described d = supervisor->describe(entry);
    Variant v;
    try {
      v = variant_of(d);
    } catch (const InputError& e) {
      throw InputError(shown + ": " + e.what());
    }
    if (!keys.insert(v.key()).second)
      throw InputError(fmt::format("{}: two variants are called {}/{}", shown, v.variant, types_of(v)));
    const bool on_device = d.device_type == 2;
    if (d.needs_workspace)
      v.workspace_bytes = [supervisor, entry, on_device](const Problem& p) {
        return static_cast<std::size_t>(supervisor->workspace_bytes(entry, on_device, p));
      };
    v.file = shown;
    entries->push_back({v, entry, on_device});
    v.launcher = std::make_shared<WorkerLauncher>(supervisor, entry, on_device, v.own_stream, entries);
    all.push_back(std::move(v));
  }
  return all;
}

}  // namespace isolation

std::vector<Variant> load_plugin(const std::string& text, const IsolationOptions& options) {
  const auto [path, wanted] = split(text);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) throw InputError(path + ": no such file");
  if (!std::filesystem::is_regular_file(path, error)) throw InputError(path + ": not a file");
  // dlopen searches other folders for a name without a slash.
  const std::string absolute = std::filesystem::absolute(path).string();
  isolation::sandbox_shows(absolute);
  auto supervisor =
      std::make_shared<isolation::Supervisor>(isolation::Subject{true, absolute, path}, options);
  std::vector<Variant> all = isolation::variants_of(supervisor, path);
  std::multiset<std::string> names;
  for (const Variant& v : all) names.insert(v.variant);
  std::vector<Variant> chosen;
  for (Variant& v : all) {
    const std::string with_types = v.variant + "/" + types_of(v);
    if (all.size() == 1)
      v.origin = path;
    else
      v.origin = path + "#" + (names.count(v.variant) == 1 ? v.variant : with_types);
    if (wanted.empty() || wanted == v.variant || wanted == with_types) chosen.push_back(std::move(v));
  }
  if (chosen.empty()) throw InputError(fmt::format("{}: has no variant {}", path, wanted));
  return chosen;
}

const Variant* find_candidate(std::string_view key) {
  const Variant* const v = find_variant(key);
  return v ? v : find_mutant(key);
}

std::vector<const Variant*> same_kernel(std::string_view key) {
  std::vector<const Variant*> all;
  const Variant* const named = find_candidate(key);
  if (!named) return all;
  const auto take = [&](const Variant& v) {
    if (v.variant == named->variant && v.backend == named->backend && v.op == named->op) all.push_back(&v);
  };
  for (const Variant& v : registry()) take(v);
  for (const Mutant& m : mutants()) take(m.variant);
  return all;
}

}  // namespace assay
