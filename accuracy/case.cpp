#include "accuracy/case.hpp"

namespace assay {

Case::Case(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed)
    : family_(family.name), seed_(seed), logits_(make_input(family, dtype, V, rows, seed)) {
  prepare();
}

Case::Case(std::string name, Tensor logits) : family_(std::move(name)), logits_(std::move(logits)) {
  prepare();
}

void Case::prepare() {
  truth_ = assay::truth(logits_);
  shift_.reserve(truth_.size());
  for (const RowTruth& t : truth_) shift_.push_back(shift_of(t, Dtype::f32, true));
}

std::int64_t Case::undecided() const {
  std::int64_t n = 0;
  for (const RowTruth& t : truth_) n += t.undecided;
  return n;
}

}  // namespace assay
