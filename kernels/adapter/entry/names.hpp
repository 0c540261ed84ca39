// SPDX-License-Identifier: Apache-2.0
// What the parameter names of public launchers mean. Only the name counts: nothing here uses the order of the
// parameters.
#pragma once

#include <string>
#include <string_view>

#include "kernels/adapter/entry/signature.hpp"
#include "reference/operand_table.hpp"

namespace assay {

/// The name in lower case, without '_' and without parts that only mean "a pointer on the device": d_in,
/// dev_in, in_ptr.
std::string plain_name(const Parameter& p);

// These take plain names. Role::none if the name does not say the role.
Role pointer_role(std::string_view name);
Role number_role(std::string_view name);
/// For in_pitch, ldx, output_row_stride and so on. It takes the name as written, in lower case.
Role pitch_role(std::string_view name);

/// A factor of the number of rows: heads, from_seq_len.
bool is_row_factor(std::string_view name);
/// The number of squares that a causal kernel's rows form, or a factor of it: batch, heads, attn_batches.
bool is_square_count(std::string_view name);
/// The row length. If another parameter is the row length, a factor of the number of rows.
bool is_sequence(std::string_view name);
/// rows * V, if one of the two is a parameter too: numel, total.
bool is_count(std::string_view name);
/// rows * V, if both are parameters too: size, count.
bool may_be_count(std::string_view name);
/// The threshold of min_p and top_p: threshold, min_p, top_p.
bool is_threshold(std::string_view name);
/// A mask. Its name does not say of which kind.
bool is_mask(std::string_view name);
/// The role of an operand of the table.
Role role_of(const OperandInfo& operand);
/// The operand of the table that a parameter is, as its role says. Null if it is none.
const OperandInfo* operand_of(const Parameter& p);
/// The role of a parameter whose name and type say which operand it is; else none. A mask is none: its name
/// does not say which.
Role operand_role(const Parameter& p, std::string_view name);
/// The role of a parameter without a type, as in Python: that of an operand, mask (of any kind), out; else
/// empty.
std::string_view untyped_role(std::string_view name);

// What readers of launchers and of callables say alike.

/// y = alpha softmax(x) + beta y, as in BLAS: alpha is not a factor of the logits.
bool is_blas_alpha(std::string_view name, bool beta);
/// A router's scale is a factor of its results.
bool may_scale_results(std::string_view name, Op op);
std::string scale_question(const std::string& name);
/// Why an operand is refused, and how the kernel can be checked `without` it, or at that value.
std::string not_judged(const std::string& what, Op op, const std::string& without, bool value);
bool is_lse(std::string_view name);
/// True if a function's name, in lower case, says that it is a backward pass.
bool says_backward(std::string_view function);
/// The role of a pointer of a backward pass: gradients, in (what the softmax wrote) or out. Role::none if the
/// name does not say it.
Role backward_role(std::string_view name, bool read_only);
/// A bool that turns softmax into something else: causal, is_log.
bool is_mask_switch(std::string_view name);
bool is_log_switch(std::string_view name);

}  // namespace assay
