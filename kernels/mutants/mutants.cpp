#include "kernels/mutants/mutants.hpp"

namespace assay {
namespace {
std::vector<Mutant>& storage() {
  static std::vector<Mutant> all;
  return all;
}
}  // namespace

const std::vector<Mutant>& mutants() { return storage(); }
bool register_mutant(Mutant m) {
  storage().push_back(std::move(m));
  return true;
}

}  // namespace assay
