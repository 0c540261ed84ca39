// SPDX-License-Identifier: Apache-2.0
#include "kernels/mutants/mutants.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "kernels/declaration.hpp"

namespace assay {
namespace {

std::vector<Mutant>& mutant_storage() {
  static std::vector<Mutant> all;
  return all;
}

}  // namespace

const std::vector<Mutant>& mutants() {
  // Initialisation order is not specified: entries are added unsorted, and sorted on first use after main
  // began.
  static const bool sorted = [] {
    for (Mutant& m : mutant_storage())
      if (m.expect.declaration) {
        m.variant.claim = undeclared_claim();
        if (!selects(m.variant.op)) m.variant.claim.select = Select::none;
        m.variant.declared = m.variant.writes_normalizer = false;
        apply_declaration(m.expect.declaration, m.variant);
        m.variant.claim.judgeable_rows_only = m.expect.judgeable_rows_only;
      }
    const auto place = [](const Mutant& m) {
      return std::tuple(m.kind, m.variant.backend, *m.id, std::atoi(m.id + 1), std::string_view(m.fault));
    };
    std::sort(mutant_storage().begin(), mutant_storage().end(),
              [&](const Mutant& a, const Mutant& b) { return place(a) < place(b); });
    return true;
  }();
  (void)sorted;
  return mutant_storage();
}

const Mutant* find_mutant_of(std::string_view fault) {
  for (const Mutant& m : mutants())
    if (m.fault == fault && m.variant.backend == Backend::host) return &m;
  return nullptr;
}

const Variant* find_mutant(std::string_view key) {
  for (const Mutant& m : mutants())
    if (m.variant.key() == key) return &m.variant;
  return nullptr;
}

const char* what_of(std::string_view id) {
  for (const CatalogueEntry& e : catalogue())
    if (e.id == id) return e.what;
  return "";
}

bool register_mutant(Mutant m) {
  m.kind = *m.id == 'R' ? Kind::right : *m.id == 'C' ? Kind::cheat : Kind::fault;
  m.variant.variant = std::string("mutant.") + m.fault;
  const std::size_t kernels = m.variant.file.rfind("kernels/");
  if (kernels != std::string::npos) m.variant.file.erase(0, kernels);
  if (m.expect.declaration && m.variant.backend == Backend::host) m.variant.backend = Backend::plugin;
  mutant_storage().push_back(std::move(m));
  return true;
}

}  // namespace assay
