// SPDX-License-Identifier: Apache-2.0
// Refuses or asks, once the roles are given: parameters without a role, roles that exclude each other, types
// and sizes.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/adapter/entry/role_reader.hpp"
#include "kernels/adapter/entry/tokens.hpp"
#include "kernels/adapter/entry/types.hpp"
#include "kernels/formula.hpp"
#include "reference/error.hpp"
#include "reference/operand_table.hpp"
#include "reference/text.hpp"

namespace assay {

std::vector<const Parameter*> RoleReader::undecided(bool pointers) const {
  std::vector<const Parameter*> all = entry_undecided(s_, pointers);
  std::erase(all, lse_);
  return all;
}

void RoleReader::need(Role r, const char* what) {
  if (s_.has(r)) return;
  const bool number = r == Role::k;
  std::vector<const Parameter*> all = undecided(!number);
  if (r == Role::threshold) {
    all.clear();
    for (const Parameter& p : s_.parameters)
      if (p.role == Role::none && is_number(p)) all.push_back(&p);
  }
  if (all.size() > 1 && backward_ && (r == Role::in || r == Role::gradients))
    ask_entry(s_, all, {Role::in, Role::gradients}, "what the softmax wrote, and which the gradients");
  if (all.size() > 1 && r == Role::in && !s_.has(Role::out) && s_.op != Op::normalizer)
    ask_entry(s_, all, {Role::in, Role::out}, "the logits, and which the results");
  if (all.size() > 1) ask_entry(s_, all, {r}, what);
  if (all.size() == 1)
    refuse(*all[0], std::string("is it ") + what + "? --arg " + handle(*all[0]) + "=" + name(r) + " says so");
  throw InputError(std::string("--entry: no parameter is ") + what + ": --arg NAME=" + name(r) +
                   " says which");
}

void RoleReader::check() {
  if (!s_.has(Role::inout)) need(Role::in, backward_ ? "what the softmax wrote" : "the logits");
  if (backward_) need(Role::gradients, "the gradients");
  if (const Parameter* p = s_.find(Role::gradients); p && !backward_)
    refuse(*p, std::string(name(s_.op)) + " has no gradients: --op softmax_backward has");
  if (s_.op == Op::normalizer) {
    if (!s_.has(Role::m) && !s_.has(Role::d)) need(Role::m, "the rows' maxima");
  } else if (!s_.has(Role::inout)) {
    need(Role::out, "the results");
  }
  if (selects(s_.op)) need(Role::indices, "the indices");
  need_lengths(s_);
  if (const Parameter* p = s_.find(Role::rows); p && s_.one_row)
    refuse(*p, "is the number of rows, and --arg rows=1 says that a call has one: --arg " + handle(*p) +
                   "=1 as well");
  if (selects(s_.op) && s_.fixed_k == 0) need(Role::k, "the k of top-k");
  if (keeps_a_set(s_.op)) need(Role::threshold, "the threshold");
  if (const Parameter* p = s_.find(Role::threshold); p && !keeps_a_set(s_.op))
    refuse(*p, std::string(name(s_.op)) + " has no threshold: --op min_p and --op top_p have; --arg " +
                   handle(*p) + "=VALUE gives it a value");
  for (const Parameter& p : s_.parameters) {
    if (p.scalar == Scalar::none && p.role != Role::literal)
      throw InputError(
          "--entry: parameter " + place(p) + ": " + in_quotes(p.type) +
          ": a type that is not known (float, half, __half, __nv_bfloat16, int, int64_t, size_t, "
          "void*, cudaStream_t, ...); --arg " +
          handle(p) + "=VALUE gives it a value");
    if (p.role == Role::none && p.pointers > 0 && is_mask(plain_name(p)))
      refuse(p, judged_operands(s_.op) & operand::any_mask ? mask_question(p) : not_judged(p, "a mask"));
    if (p.role == Role::none)
      refuse(p, "not known what it is for: --arg " + handle(p) + "=VALUE, or --arg " + handle(p) + "=ROLE (" +
                    roles(p));
    if (p.formula)
      if (const std::string why = size_formula(p.literal, {65536, 131072, 1}); !why.empty())
        throw InputError("--arg " + in_quotes(handle(p) + "=" + p.literal) + ": " + why);
    if (p.role == Role::literal) continue;
    check_operand(p);
    for (const Parameter& q : s_.parameters)
      if (&q < &p && q.role == p.role && p.role != Role::workspace && !(said(p) && said(q)) &&
          !(p.is_integer() && (said(p) || said(q))))  // a size may be passed twice: nrows_x and nrows_y
        refuse(p, std::string(name(p.role)) + " already is '" + handle(q) + "': --arg " + handle(p) +
                      "=... says what it is");
    check_role_type(s_, p);
  }
  if (const Parameter* p = s_.find(Role::k); p && !selects(s_.op))
    refuse(*p, std::string(name(s_.op)) + " has no k: --arg " + handle(*p) +
                   "=V or another role says what it is");
  for (const Role side : {Role::in_pitch, Role::out_pitch})
    if (const Parameter* p = s_.find(Role::pitch); p && s_.has(side))
      refuse(*p, std::string("beside ") + name(side) + ": --arg " + handle(*p) +
                     "=in_pitch or out_pitch says which");
  for (const auto& [one, other] :
       {std::pair(Role::mask_keep, Role::mask_drop), std::pair(Role::bias, Role::bias_row)})
    if (const Parameter* p = s_.find(one); p && s_.has(other))
      refuse(*p, std::string("beside ") + name(other) + ": a launch has one of them");
  workspaces();
}

std::string RoleReader::not_judged(const Parameter& p, const std::string& what) const {
  const bool pointer = p.pointers > 0;
  return assay::not_judged(what, s_.op, handle(p) + (pointer ? "=nullptr" : "=1"), !pointer);
}

void RoleReader::check_operand(const Parameter& p) const {
  const OperandInfo* const operand = operand_of(p);
  if (!operand) return;
  if (!(judged_operands(s_.op) & operand->part)) refuse(p, not_judged(p, name(p.role)));
  if (p.role == Role::scale && !said(p) && may_scale_results(plain_name(p), s_.op))
    refuse(p, scale_question(handle(p)));
}

void RoleReader::workspaces() {
  Parameter* open = nullptr;
  for (Parameter& p : s_.parameters) {
    if (p.role != Role::workspace || !p.bytes.empty()) continue;
    if (open || s_.workspace_bytes.empty())
      refuse(p, open ? "how many bytes? --arg " + handle(p) +
                           "='workspace(rows * V * 4)', of rows, V and k, says it of one of several"
                     : std::string("how many bytes? --arg workspace_bytes='rows * V * 4', of rows, V and k"));
    open = &p;
  }
  if (open) open->bytes = s_.workspace_bytes;
  if (!s_.workspace_bytes.empty()) check_bytes("workspace_bytes=", s_.workspace_bytes);
  std::string before;
  for (Parameter& p : s_.parameters) {
    if (p.role != Role::workspace) continue;
    if (&p != open) check_bytes(handle(p) + "=workspace", p.bytes);
    p.offset = before;
    s_.workspace_bytes = before.empty() ? p.bytes : before + " + (" + p.bytes + ")";
    before += (before.empty() ? "((" : " + ((") + p.bytes + ") + 255) / 256 * 256";
  }
}

void RoleReader::check_bytes(const std::string& what, const std::string& text) const {
  // The sizes for which it will be evaluated. k is 0 if nothing is selected.
  const std::int64_t k = s_.fixed_k > 0 ? s_.fixed_k : selects(s_.op) ? 1 : 0;
  for (const std::int64_t rows : {0, 1, 65536})
    for (const std::int64_t V : {0, 1, 131072})
      if (const std::string why = size_formula(text, {rows, V, k}); !why.empty())
        throw InputError("--arg " + what + in_quotes(text) + ": " + why);
}

std::string RoleReader::mask_question(const Parameter& p) const {
  const bool real = is_real(p);
  const std::string is = "--arg " + handle(p) + "=";
  return "a mask: what does it mean? " + (real ? is + "bias adds it; " : std::string()) + is +
         "mask_keep leaves out what is 0; " + is + "mask_drop leaves out what is not 0" +
         (p.read_only ? std::string() : "; " + is + "'workspace(rows * V)' lets the kernel write it");
}

std::string RoleReader::roles(const Parameter& p) const {
  if (p.pointers > 0 && p.read_only && backward_) return "in, gradients)";
  const std::uint32_t judged = judged_operands(s_.op);
  const std::string operands = std::string(judged & operand::any_bias ? "bias, bias_row, " : "") +
                               (judged & operand::any_mask ? "mask_keep, mask_drop, lengths, " : "") +
                               (judged & operand::temperatures ? "temperature" : "");
  if (p.pointers > 0 && p.read_only) return "in" + (operands.empty() ? operands : ", " + operands) + ")";
  if (p.pointers > 0)
    return std::string("in, out, inout, ") + (backward_ ? "gradients, " : "") + "indices, m, d, " + operands +
           (operands.empty() ? "" : ", ") +
           "workspace, stream), "
           "or, where it is written and not judged, "
           "--arg " +
           handle(p) + "='workspace(rows * V * 4)'";
  if (p.is_integer() && s_.causal) return "rows, V, in_pitch, out_pitch, pitch, workspace_bytes)";
  if (p.is_integer()) return "rows, V, k, in_pitch, out_pitch, pitch, workspace_bytes)";
  std::string numbers;
  for (const OperandInfo& o : kOperandTable)
    if (o.number) numbers += std::string(o.name) + ", ";
  return numbers + "threshold)";
}

Dtype RoleReader::dtype_of(const Parameter& p) const {
  switch (p.scalar) {
    case Scalar::f16:
      return Dtype::f16;
    case Scalar::bf16:
      return Dtype::bf16;
    case Scalar::f32:
      return Dtype::f32;
    case Scalar::f64:
      refuse(p, "unsupported: double: f16, bf16 and f32 can be judged");
    default:
      if (dtype_) return *dtype_;
      refuse(p, "a pointer to which type? --types f16, bf16 or f32 says it");
  }
}

void RoleReader::settle_dtypes() {
  const Parameter* in = s_.find(Role::in);
  if (!in) in = s_.find(Role::inout);
  s_.in = s_.out = dtype_of(*in);
  if (const Parameter* p = s_.find(Role::gradients); p && dtype_of(*p) != s_.in)
    refuse(*p, "gradients of another type than what the softmax wrote cannot be judged");
  if (const Parameter* out = s_.find(Role::out)) s_.out = dtype_of(*out);
}

}  // namespace assay
