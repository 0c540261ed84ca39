// SPDX-License-Identifier: Apache-2.0
// A kernel's entry as its author wrote it, read as a C++ declaration:
//
//   void softmax(const float* in, float* out, int rows, int V, cudaStream_t s)
//
// Here `rows` is the number of rows and `V` the row length. Names and types say what each parameter is for.
// If they do not, the error names the --arg that settles it: a guess here would become a wrong verdict. Any
// text is safe to read, and takes time linear in its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/adapter/parts.h"
#include "reference/problem.hpp"

namespace assay {

/// What a parameter is for: the parts of adapter.h in their order, or a C++ expression from --arg.
#define ASSAY_PART(part) part,
enum class Role { ASSAY_PARTS(ASSAY_PART) literal };
#undef ASSAY_PART
/// The role's name, as in `--arg N=rows`.
const char* name(Role r);

/// `own_integer`: an integer type whose width only the file knows, such as dim_t. `none`: not known here.
enum class Scalar {
  none,
  f16,
  bf16,
  f32,
  f64,
  i8,
  i16,
  i32,
  u32,
  i64,
  u64,
  own_integer,
  boolean,
  nothing,
  stream
};

struct Parameter {
  Scalar scalar = Scalar::none;
  int pointers = 0;
  bool read_only = false;  // const T*
  std::string type;        // as written, without the name
  std::string base;        // the type, or the type that it points to: "float", "unsigned int"
  std::string name;        // empty if it has none
  Role role = Role::none;
  std::string initial;  // its default argument, as written
  std::string literal;
  bool formula = false;       // the literal is a formula of rows, V and k: rows*V
  std::string bytes, offset;  // formulas, for a workspace

  bool is_integer() const {
    return pointers == 0 &&
           (scalar == Scalar::i8 || scalar == Scalar::i16 || scalar == Scalar::i32 || scalar == Scalar::u32 ||
            scalar == Scalar::i64 || scalar == Scalar::u64 || scalar == Scalar::own_integer);
  }
};

/// What a launcher returns. A status (int, cudaError_t, cublasStatus_t) is 0 on success, a bool is true.
enum class Returned { nothing, status, success };

struct EntryLimit {
  std::string word, value;  // "dense", "yes"
};

struct EntrySignature {
  std::string function;  // softmax, ns::softmax, softmax<float>
  Returned returned = Returned::nothing;
  bool one_row = false;  // a call has one row, so it is called for each row
  bool causal = false;   // the rows form whole squares; the launcher may get the number of squares
  std::vector<Parameter> parameters;
  Op op = Op::softmax;
  Dtype in = Dtype::f32;
  Dtype out = Dtype::f32;
  std::string workspace_bytes;  // an expression in rows, V and k; empty if there is no workspace
  std::int64_t fixed_V = 0;     // the only row length, if no parameter passes it; 0: any
  int fixed_k = 0;              // the only k of a top-k; 0: any

  const Parameter* find(Role r) const;
  bool has(Role r) const { return find(r) != nullptr; }
  /// Limits that follow from the signature, as words of a declaration.
  std::vector<EntryLimit> limits() const;
  /// What it reads besides the logits, from the roles and types of its parameters.
  Operands operands() const;
};

/// `--arg name=value`. The name is the parameter's name or its place, counted from 1. The value is a role or
/// an expression.
struct EntryArgument {
  std::string name, value;
};
/// Throws InputError if the text is not name=value.
EntryArgument parse_entry_argument(std::string_view text);

/// Reads a declaration. `dtype`, if given, replaces `T` in its types. Throws InputError with one line that
/// names the parameter and the --arg that would settle it. `causal`: the kernel is declared to be causal.
EntrySignature parse_entry(std::string_view text, const std::vector<EntryArgument>& arguments = {},
                           std::optional<Op> op = {}, std::optional<Dtype> dtype = {}, bool causal = false);

/// True if the entry uses a type T.
bool entry_is_template(std::string_view text);

/// For fuzzers: parses the bytes and returns true if they are an entry. Any exception other than InputError
/// escapes.
bool fuzz_entry_signature(const std::uint8_t* bytes, std::size_t size);

}  // namespace assay
