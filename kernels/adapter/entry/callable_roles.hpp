// SPDX-License-Identifier: Apache-2.0
// What each parameter of a Python callable gets: the logits, an output, an operand, a constant, or nothing.
// It has no types. --arg decides first, then the name, then the place; required parameters that are left are
// the outputs. If this leaves one open, the message names the --arg that would decide.
#pragma once

#include <string>
#include <vector>

#include "reference/problem.hpp"

namespace assay {

struct CallableParameter {
  enum Kind { place_alone, place, keyword } kind = keyword;
  enum Initial { required, none, chooses, value } initial = required;  // chooses: a bool or a string
  std::string name = {};
};

/// `more` and `keywords`: whether it takes others, by place or by keyword.
struct Callable {
  bool more = true, keywords = true;
  std::vector<CallableParameter> parameters = {};
};

struct CallableArgument {
  bool by_place = true;
  std::string role;
  std::string name = {}, type = {};
  std::string literal = {};  // of --arg NAME=VALUE: the value; the role is "literal"
};

/// The arguments of a call, in their order. `said`: the texts of --arg, whose spelling was checked. Throws
/// InputError.
std::vector<CallableArgument> callable_arguments(const Callable& callable, Op op,
                                                 const std::vector<std::string>& said);

/// The operands that these arguments are, in the words of plugin.h. Types that --arg does not name: that of
/// the logits, and `lengths`.
std::string callable_operands(const std::vector<CallableArgument>& arguments, const std::string& logits,
                              const std::string& lengths);
/// How they were understood, for example ", mask as mask_keep".
std::string callable_read_as(const std::vector<CallableArgument>& arguments);

}  // namespace assay
