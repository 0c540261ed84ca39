// SPDX-License-Identifier: Apache-2.0
// --arg for a Python callable: which arguments are accepted, and the one line for all others.
#include "kernels/python/python_arguments.hpp"

#include <gtest/gtest.h>

#include "reference/error.hpp"

namespace assay {
namespace {

std::string refusal_of_arguments(const std::vector<std::string>& arguments) {
  try {
    check_python_arguments(arguments);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(PythonArguments, RolesAndValues) {
  for (const char* one :
       {"mask=mask_keep", "mask=mask_drop:u8", "mask=mask_keep:bool", "mask=bias:f32", "bias=bias_row:bf16",
        "seq_lens=lengths:i64", "s=scale", "t=temperatures", "n=rows", "n=V", "y=out", "x=in", "dim=-1",
        "eps=1e-5", "fill=-inf", "flag=True", "flag=False", "_Mask2=None"})
    EXPECT_EQ(refusal_of_arguments({one}), "") << one;
  EXPECT_EQ(refusal_of_arguments({"mask=mask_keep", "dim=-1"}), "");
}

TEST(PythonArguments, EverythingElseIsOneLine) {
  const std::string form = ": NAME=ROLE or NAME=VALUE is needed, as in --arg mask=mask_keep or --arg dim=-1";
  for (const std::string one : {"mask", "=mask_keep", "mask="})
    EXPECT_EQ(refusal_of_arguments({one}), "--arg '" + one + "'" + form);
  EXPECT_EQ(refusal_of_arguments({"2=mask_keep"}), "--arg '2=mask_keep': '2' is no name of a parameter");
  EXPECT_EQ(refusal_of_arguments({"a.b=1"}), "--arg 'a.b=1': 'a.b' is no name of a parameter");
  for (const char* one :
       {"mask=keep", "flag=true", "x=1+1", "x=0x10", "x= 1", "x=1_0", "mode='fast'", "m=None:u8"})
    EXPECT_EQ(refusal_of_arguments({one}),
              std::string("--arg '") + one +
                  "': neither a role (mask_keep, mask_drop, bias, bias_row, lengths, scale, temperature, "
                  "temperatures, in, out, indices, k, threshold, rows, V, stream) nor a value (a number, "
                  "None, True, False)")
        << one;
  EXPECT_EQ(refusal_of_arguments({"mask=mask_keep:f64"}),
            "--arg 'mask=mask_keep:f64': of mask_keep the types are bool, u8, i32, f16, bf16, f32");
  EXPECT_EQ(refusal_of_arguments({"b=bias:bool"}),
            "--arg 'b=bias:bool': of bias the types are f16, bf16, f32");
  EXPECT_EQ(refusal_of_arguments({"l=lengths:"}), "--arg 'l=lengths:': of lengths the types are i32, i64");
  EXPECT_EQ(refusal_of_arguments({"s=scale:f32"}), "--arg 's=scale:f32': scale has no types to choose from");
  EXPECT_EQ(refusal_of_arguments({"dim=-1", "dim=0"}), "--arg 'dim' is given twice");
}

}  // namespace
}  // namespace assay
