// What the names of public launchers' parameters mean. A name decides or it does not: nothing here looks at
// the order of parameters.
#pragma once

#include <string>
#include <string_view>

#include "kernels/adapter/entry/signature.hpp"

namespace assay {

/// In lower case and without '_', and without what says only "a pointer, on the device": d_in, dev_in,
/// in_ptr.
std::string plain_name(const Parameter& p);

// Of plain names. Role::none where the name does not say it.
Role pointer_role(std::string_view name);
Role number_role(std::string_view name);
/// in_pitch, ldx, output_row_stride, ...: of a name as it is written, in lower case.
Role pitch_role(std::string_view name);

/// A number that the rows are a product of: heads, from_seq_len.
bool is_row_factor(std::string_view name);
/// How many squares a causal kernel's rows make, or a factor of it: batch, heads, attn_batches.
bool is_square_count(std::string_view name);
/// A length of rows, unless another parameter is: then a factor of their number.
bool is_sequence(std::string_view name);
/// rows * V, where one of them is a parameter too: numel, total.
bool is_count(std::string_view name);
/// rows * V, where both are parameters too: size, count.
bool may_be_count(std::string_view name);
bool is_scale(std::string_view name);
bool is_temperature(std::string_view name);
/// A mask of some kind: which, its name does not say.
bool is_mask(std::string_view name);
/// Of a const pointer: bias, bias_row, lengths or temperature, where name and type say so; else none.
Role operand_role(const Parameter& p, std::string_view name);
/// Of parameters that have no types, as Python's: "scale=scale,smscale;temperature=...": plain names of
/// scale, temperature, temperatures (of each row), bias, bias_row, lengths, masks of whatever kind, and
/// outputs.
std::string names_without_types();
/// What is read besides the logits.
bool is_operand(Role r);
bool is_lse(std::string_view name);
/// Of a function's name in lower case: it is a backward pass.
bool says_backward(std::string_view function);
/// What a pointer of a backward pass is: gradients, in (what the softmax wrote) or out. Role::none where the
/// name does not say it.
Role backward_role(std::string_view name, bool read_only);
/// A bool that turns softmax into something else: causal, is_log.
bool is_mask_switch(std::string_view name);
bool is_log_switch(std::string_view name);

}  // namespace assay
