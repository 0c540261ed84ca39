// SPDX-License-Identifier: Apache-2.0
// What a case of `assay check` varies beside its inputs and its shape.
#pragma once

#include <compare>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace assay {

enum class SetupKind : std::uint8_t {
  none,
  // Group layout: what lies around the rows, where they begin and how far they are apart.
  guard_nan,
  guard_finite,
  outputs_finite,
  pitch_logits,
  pitch_probs,
  pitch_both,
  pitch_unequal,
  offset,  // the number: bytes
  probs_off,
  logits_off,
  in_place,
  page_end,
  // Group streams.
  two_at_once,
  delayed_producer,
  late_write,
  // Group calls.
  new_content,
  new_pointer,
  same_again,
  one_changed,
  same_head,
  small_large_small,
  rows_again,
  after_special,
  op_order,
  dtype_order,
  call_200,
  // Group operands.
  ordinary,
  few_left,
  long_tails,
  pitch_operands,
  huge_behind,
  special_behind,
  // A name that its group defines: a property, a tool.
  named,
};

/// Kind and number, and for `named` the name. Its text, as "offset_6", stands in records and commands.
class Setup {
 public:
  Setup() = default;
  Setup(SetupKind kind, std::int64_t number = 0) : kind_(kind), number_(number) {}
  /// From its text; any text is one.
  Setup(std::string_view text);
  Setup(const std::string& text) : Setup(std::string_view(text)) {}
  Setup(const char* text) : Setup(std::string_view(text)) {}

  SetupKind kind() const { return kind_; }
  std::int64_t number() const { return number_; }
  bool empty() const { return kind_ == SetupKind::none; }
  std::string text() const;
  auto operator<=>(const Setup&) const = default;

  /// Elements between the rows, in the logits or in the outputs, whichever says more of an alignment; 0 for
  /// dense rows.
  std::int64_t gap() const;
  bool gap_of_logits() const;
  bool gap_of_outputs() const;
  /// True if the logits, the outputs or both begin some elements off an aligned address.
  bool off_alignment() const;
  /// What it has in common with others, as "offset_*"; its text if nothing.
  std::string sort() const;

 private:
  SetupKind kind_ = SetupKind::none;
  std::int64_t number_ = 0;
  std::string name_;
};

/// A Setup as a field of a record: its text.
class SetupField {
 public:
  explicit SetupField(Setup& s) : s_(&s) {}
  explicit SetupField(const Setup& s) : s_(const_cast<Setup*>(&s)) {}
  void write(nlohmann::json& j) const;
  void read(const nlohmann::json& j) const;
  bool is_default() const { return s_->empty(); }
  nlohmann::json schema() const;

 private:
  Setup* s_;
};

}  // namespace assay
