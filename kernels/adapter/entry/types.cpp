#include "kernels/adapter/entry/types.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "kernels/adapter/entry/questions.hpp"

namespace assay {

void check_role_type(const EntrySignature& s, const Parameter& p) {
  const auto refuse = [&](const Parameter& of, const std::string& why) { refuse_entry(s, of, why); };
  const auto one_of = [&](std::initializer_list<Scalar> all, const char* what) {
    if (std::find(all.begin(), all.end(), p.scalar) == all.end())
      refuse(p, std::string(name(p.role)) + " is " + what);
  };
  switch (p.role) {
    case Role::out:
    case Role::inout:
      if (p.read_only)
        refuse(p, "is const and cannot be written: --arg " + entry_handle(s, p) + "=in if it is the input");
      [[fallthrough]];
    case Role::in:
    case Role::gradients:
      one_of({Scalar::f16, Scalar::bf16, Scalar::f32, Scalar::f64, Scalar::nothing},
             "a pointer to half, bfloat16 or float");
      break;
    case Role::m:
    case Role::d:
      one_of({Scalar::f32}, "a pointer to float, one for each row");
      if (p.read_only) refuse(p, "is const and cannot be written");
      break;
    case Role::indices:
      one_of({Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64}, "a pointer to 32-bit or 64-bit integers");
      if (p.read_only) refuse(p, "is const and cannot be written");
      break;
    case Role::stream:
      one_of({Scalar::stream, Scalar::nothing}, "a cudaStream_t or a void*");
      break;
    case Role::scale:
      one_of({Scalar::f16, Scalar::bf16, Scalar::f32, Scalar::f64}, "a float, half or bfloat16");
      break;
    case Role::workspace:
      break;
    case Role::temperature:
      one_of({Scalar::f32, Scalar::f64}, "a float, or a pointer to float, one for each row");
      if (p.pointers > 0 && p.scalar != Scalar::f32) refuse(p, "temperatures are floats");
      break;
    case Role::bias:
    case Role::bias_row:
      one_of({Scalar::f16, Scalar::bf16, Scalar::f32}, "a pointer to half, bfloat16 or float");
      break;
    case Role::mask_keep:
    case Role::mask_drop:
      one_of({Scalar::boolean, Scalar::i8, Scalar::i32, Scalar::u32, Scalar::f16, Scalar::bf16, Scalar::f32},
             "a pointer to bool, bytes, 32-bit integers, half, bfloat16 or float");
      break;
    case Role::lengths:
      one_of({Scalar::i32, Scalar::u32, Scalar::i64, Scalar::u64}, "a pointer to 32-bit or 64-bit integers");
      break;
    default:
      if (!p.is_integer()) refuse(p, std::string(name(p.role)) + " is an integer");
  }
}

}  // namespace assay
