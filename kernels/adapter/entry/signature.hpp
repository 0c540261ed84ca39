// A kernel's entry as its author wrote it, read as a C++ declaration:
//
//   void softmax(const float* in, float* out, int rows, int V, cudaStream_t s)
//
// Names and types say what each parameter is for. Where they do not, the reader is told which --arg would
// settle it: a guess here would become a wrong verdict. Any text is safe to give: time is linear in its
// length.
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

/// What a parameter is for: the parts of adapter.h in their order, and a C++ expression from --arg.
#define ASSAY_PART(part) part,
enum class Role { ASSAY_PARTS(ASSAY_PART) literal };
#undef ASSAY_PART
/// As in `--arg N=rows`.
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
  std::string base;        // what it is, or points to: "float", "unsigned int"
  std::string name;        // empty where there is none
  Role role = Role::none;
  std::string initial;  // its default argument, as written
  std::string literal;
  bool formula = false;       // the literal is of rows, V and k: rows*V
  std::string bytes, offset;  // of a workspace: formulas

  bool is_integer() const {
    return pointers == 0 &&
           (scalar == Scalar::i8 || scalar == Scalar::i16 || scalar == Scalar::i32 || scalar == Scalar::u32 ||
            scalar == Scalar::i64 || scalar == Scalar::u64 || scalar == Scalar::own_integer);
  }
};

/// What a launcher's value says: a status (int, cudaError_t, cublasStatus_t) is 0 where all went well, a bool
/// true.
enum class Returned { nothing, status, success };

struct EntrySignature {
  std::string function;  // softmax, ns::softmax, softmax<float>
  Returned returned = Returned::nothing;
  bool one_row = false;  // a call has one row: it is called for each
  bool causal = false;   // rows are whole squares: their number of V is what a launcher may be told
  std::vector<Parameter> parameters;
  Op op = Op::softmax;
  Dtype in = Dtype::f32;
  Dtype out = Dtype::f32;
  std::string workspace_bytes;  // an expression in rows, V and k; empty where no workspace is taken
  std::int64_t fixed_V = 0;     // rows of this length alone, which no parameter says; 0: any
  int fixed_k = 0;              // top-k with this k alone; 0: any

  const Parameter* find(Role r) const;
  bool has(Role r) const { return find(r) != nullptr; }
  /// What the signature itself says about the domain, as words of a declaration: "dense=yes; max_V=...".
  std::string limits() const;
  /// What it reads besides the logits, by its parameters' roles and types.
  Operands operands() const;
};

/// `--arg name=value`: the parameter's name, or its place counted from 1; a role, or an expression.
struct EntryArgument {
  std::string name, value;
};
/// Throws InputError for anything but name=value.
EntryArgument parse_entry_argument(std::string_view text);

/// Reads a declaration. `T` in its types is `dtype`, where one is given. Throws InputError: one line that
/// names the parameter and the --arg that would settle it. `causal`: the kernel is declared to be.
EntrySignature parse_entry(std::string_view text, const std::vector<EntryArgument>& arguments = {},
                           std::optional<Op> op = {}, std::optional<Dtype> dtype = {}, bool causal = false);

/// True where the entry is written for a type T.
bool entry_is_template(std::string_view text);

/// For fuzzers: parses the bytes, true if they are an entry. Anything but InputError escapes.
bool fuzz_entry_signature(const std::uint8_t* bytes, std::size_t size);

}  // namespace assay
