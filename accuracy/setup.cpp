// SPDX-License-Identifier: Apache-2.0
#include "accuracy/setup.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace assay {
namespace {

/// One row for each kind, in its order. `sort`: what it has in common with others. The gaps are in elements.
struct SetupRow {
  const char* text;
  const char* sort = nullptr;
  std::int64_t in_gap = 0, out_gap = 0;
};
constexpr std::array kSetups = {
    SetupRow{""},
    SetupRow{"guard_nan", "guard_"},
    SetupRow{"guard_finite", "guard_"},
    SetupRow{"outputs_finite", "outputs_"},
    SetupRow{"pitch_logits", "pitch_", 3, 0},
    SetupRow{"pitch_probs", "pitch_", 0, 3},
    SetupRow{"pitch_both", "pitch_", 5, 5},
    SetupRow{"pitch_unequal", "pitch_", 8, 24},
    SetupRow{"offset_", "offset_"},
    SetupRow{"probs_off", "probs_"},
    SetupRow{"logits_off", "logits_"},
    SetupRow{"in_place", "in_"},
    SetupRow{"page_end", "page_"},
    SetupRow{"two_at_once", "two_"},
    SetupRow{"delayed_producer", "delayed_"},
    SetupRow{"late_write", "late_"},
    SetupRow{"new_content", "new_"},
    SetupRow{"new_pointer", "new_"},
    SetupRow{"same_again", "same_"},
    SetupRow{"one_changed", "one_"},
    SetupRow{"same_head", "same_"},
    SetupRow{"small_large_small", "small_"},
    SetupRow{"rows_again", "rows_"},
    SetupRow{"after_special", "after_"},
    SetupRow{"op_order", "op_"},
    SetupRow{"dtype_order", "dtype_"},
    SetupRow{"call_200", "call_"},
    SetupRow{"ordinary"},
    SetupRow{"few_left", "few_"},
    SetupRow{"long_tails", "long_"},
    SetupRow{"pitch_operands", "pitch_", 5, 3},
    SetupRow{"huge_behind", "huge_"},
    SetupRow{"special_behind", "special_"},
    SetupRow{nullptr},
};
static_assert(kSetups.size() == static_cast<std::size_t>(SetupKind::named) + 1);
const SetupRow& setup_row(SetupKind k) { return kSetups[static_cast<std::size_t>(k)]; }

}  // namespace

Setup::Setup(std::string_view text) {
  const std::string_view offset = setup_row(SetupKind::offset).text;
  if (text.starts_with(offset)) {
    const char* const end = text.data() + text.size();
    const auto [p, error] = std::from_chars(text.data() + offset.size(), end, number_);
    kind_ = SetupKind::offset;
    if (error == std::errc() && p == end && this->text() == text) return;
    number_ = 0;
  }
  for (std::size_t i = 0; i < kSetups.size() - 1; ++i)
    if (kSetups[i].text == text && static_cast<SetupKind>(i) != SetupKind::offset) {
      kind_ = static_cast<SetupKind>(i);
      return;
    }
  kind_ = SetupKind::named;
  name_ = text;
}

std::string Setup::text() const {
  if (kind_ == SetupKind::named) return name_;
  return kind_ == SetupKind::offset ? setup_row(kind_).text + std::to_string(number_) : setup_row(kind_).text;
}

std::int64_t Setup::gap() const {
  return setup_row(kind_).in_gap > 0 ? setup_row(kind_).in_gap : setup_row(kind_).out_gap;
}
bool Setup::gap_of_logits() const { return setup_row(kind_).in_gap > 0; }
bool Setup::gap_of_outputs() const { return setup_row(kind_).out_gap > 0; }
bool Setup::off_alignment() const {
  return kind_ == SetupKind::offset || kind_ == SetupKind::probs_off || kind_ == SetupKind::logits_off;
}

std::string Setup::sort() const { return setup_row(kind_).sort ? setup_row(kind_).sort : text(); }

void SetupField::write(nlohmann::json& j) const { j = s_->text(); }
void SetupField::read(const nlohmann::json& j) const { *s_ = Setup(j.get<std::string>()); }
nlohmann::json SetupField::schema() const { return {{"type", "string"}}; }

}  // namespace assay
