// SPDX-License-Identifier: Apache-2.0
#include "accuracy/case/case.hpp"

#include "accuracy/backward/judge.hpp"

namespace assay {

Case::Case(const Family& family, Dtype dtype, std::int64_t V, std::int64_t rows, std::uint64_t seed,
           Tier tier)
    : family_(family.name), seed_(seed), tier_(tier), logits_(make_input(family, dtype, V, rows, seed)) {}

Case::Case(std::string name, Tensor logits, Tier tier)
    : family_(std::move(name)), tier_(tier), logits_(std::move(logits)) {}

Case::Case(std::string name, Tensor stored, const EffectiveLogits& effective, Tier tier)
    : family_(std::move(name)),
      tier_(tier),
      logits_(std::move(stored)),
      effective_(std::make_shared<EffectiveLogits>(effective)) {}

const Case& Case::by_mpfr() const {
  if (tier_ == Tier::mpfr) return *this;
  std::call_once(mpfr_once_, [this] {
    auto exact = effective_ ? std::make_unique<Case>(family_, logits_, *effective_, Tier::mpfr)
                            : std::make_unique<Case>(family_, logits_, Tier::mpfr);
    exact->seed_ = seed_;
    exact->causal_rows_ = causal_rows_;
    exact->part_ = part_;
    mpfr_ = std::move(exact);
  });
  return *mpfr_;
}

const Case& Case::backward() const {
  if (gradients_) return *this;
  std::call_once(backward_once_, [this] {
    BackwardInputs in = backward_inputs(logits_, ready().truth_);
    std::unique_ptr<Case> made(new Case);
    made->family_ = family_;
    made->seed_ = seed_;
    made->logits_ = std::move(in.y);
    made->gradients_ = std::make_unique<const Tensor>(std::move(in.dy));
    backward_ = std::move(made);
  });
  return *backward_;
}

const Case& Case::causal() const {
  if (causal_rows_) return *this;
  std::call_once(causal_once_, [this] {
    std::unique_ptr<Case> made(new Case);
    made->family_ = family_;
    made->seed_ = seed_;
    made->tier_ = tier_;
    made->logits_ = logits_;
    made->effective_ = effective_;
    made->causal_rows_ = true;
    made->part_ = part_;
    causal_ = std::move(made);
  });
  return *causal_;
}

void Case::prepare() const {
  if (gradients_) return;
  OracleOptions options;
  options.tier = tier_;
  if (effective_ || causal_rows_) {
    const Tensor& z = effective_ ? effective_->z : logits_;
    truth_.resize(static_cast<std::size_t>(z.rows));
    for (std::int64_t r = 0; r < z.rows; ++r) {
      const std::int64_t columns = causal_rows_ && z.V > 0 ? r % z.V + 1 : z.V;
      RowTruth& t = truth_[static_cast<std::size_t>(r)];
      t = row_truth(z.dtype, z.row(r), columns, logits_.dtype, options);
      if (!loose()) continue;
      t.slack.assign(effective_->slack.begin() + r * z.V, effective_->slack.begin() + r * z.V + columns);
      for (std::int64_t j = 0; effective_->keeps_ties && j < columns; ++j)
        t.stored.push_back(logits_.at(r, j));
    }
  } else {
    truth_ = assay::truth(logits_, options);
  }
  shift_.reserve(truth_.size());
  for (const RowTruth& t : truth_) shift_.push_back(shift_of(t, Dtype::f32, true));
}

std::int64_t Case::undecided() const {
  std::int64_t n = 0;
  for (const RowTruth& t : ready().truth_) n += t.undecided;
  return n;
}

}  // namespace assay
