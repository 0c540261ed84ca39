// SPDX-License-Identifier: Apache-2.0
// Gives each parameter of an entry its role. roles.cpp uses --arg, names and types. role_checks.cpp asks for
// what is still open and refuses what cannot be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/adapter/entry/names.hpp"
#include "kernels/adapter/entry/signature.hpp"
#include "kernels/adapter/entry/types.hpp"

namespace assay {

class RoleReader {
 public:
  RoleReader(EntrySignature& s, std::optional<Op> op, std::optional<Dtype> dtype)
      : s_(s), op_(op), dtype_(dtype), said_(s.parameters.size()) {}

  void read(const std::vector<EntryArgument>& arguments);

 private:
  std::string place(const Parameter& p) const { return entry_place(s_, p); }
  std::string handle(const Parameter& p) const { return entry_handle(s_, p); }
  [[noreturn]] void refuse(const Parameter& p, const std::string& why) const { refuse_entry(s_, p, why); }

  // What --arg says.
  void take(const EntryArgument& a);
  /// Reads k=5 or V=4099: a size for which the launcher was compiled and which no parameter passes.
  template <class Integer>
  static void fixed(const EntryArgument& a, Integer& value);
  /// Refuses a number that does not fit the parameter's type, because it would be truncated silently.
  void check_literal(const Parameter& p, const EntryArgument& a) const;
  Parameter* named(std::string_view name);

  // What names and types say.
  /// d_output is the gradient of the output. But if d_ stands before every buffer, it means "device".
  void backward_from_name(Parameter& p);
  void from_name(Parameter& p);
  bool has_beta() const;
  bool said(const Parameter& p) const { return said_[static_cast<std::size_t>(&p - s_.parameters.data())]; }
  /// A const parameter never becomes a result because of its name: (float* x, const float* y) reads y.
  void types_over_names();

  static bool is_real(const Parameter& p) {
    return p.pointers > 0 && (p.scalar == Scalar::f16 || p.scalar == Scalar::bf16 ||
                              p.scalar == Scalar::f32 || p.scalar == Scalar::f64);
  }
  static bool is_number(const Parameter& p) {
    return p.pointers == 0 && (p.scalar == Scalar::f32 || p.scalar == Scalar::f64);
  }
  static std::string lower(std::string s) {
    for (char& c : s)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return s;
  }

  /// The only parameter without a role for which `f` holds. Null if there is none or more than one.
  template <class F>
  Parameter* only(F f) {
    Parameter* found = nullptr;
    for (Parameter& p : s_.parameters)
      if (p.role == Role::none && &p != lse_ && !(p.pointers > 0 && is_mask(plain_name(p))) && f(p)) {
        if (found) return nullptr;
        found = &p;
      }
    return found;
  }

  /// y and dy are both const. If one is known, the other is the pointer that is left.
  void one_reading_left_backward();
  void one_reading_left();
  void settle_op();
  /// min_p or top_p, as the names of the function and of the threshold say.
  Op op_of_threshold(const Parameter& p) const;
  /// A bool that would change what softmax computes is off. A parameter that nobody named takes its default.
  void switches();

  // What is still open, and what cannot be.
  std::vector<const Parameter*> undecided(bool pointers) const;
  void need(Role r, const char* what);
  void check();
  /// Refuses an operand that is not judged for the op, and asks where a name may mean two things.
  void check_operand(const Parameter& p) const;
  /// Why an operand is refused, and how the kernel can be checked without it.
  std::string not_judged(const Parameter& p, const std::string& what) const;
  /// Adds up the workspaces. They lie one after the other, each at a multiple of 256.
  void workspaces();
  void check_bytes(const std::string& what, const std::string& text) const;
  /// A mask can mean one of three things, and only the author can say which.
  std::string mask_question(const Parameter& p) const;
  std::string roles(const Parameter& p) const;
  Dtype dtype_of(const Parameter& p) const;
  void settle_dtypes();

  EntrySignature& s_;
  std::optional<Op> op_;
  std::optional<Dtype> dtype_;
  Parameter* lse_ = nullptr;
  bool backward_ = false;   // y and dy are read, dx is written
  std::vector<bool> said_;  // for each parameter: --arg says what it is
};

// What each parameter of an entry is for. --arg decides first, then the name, then the type if only one
// reading is left.

/// Fills in the roles, the op and the dtypes. Throws InputError that names the parameter and an --arg for it.
void assign_roles(EntrySignature& s, const std::vector<EntryArgument>& arguments, std::optional<Op> op,
                  std::optional<Dtype> dtype);

}  // namespace assay
