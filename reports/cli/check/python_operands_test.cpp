// SPDX-License-Identifier: Apache-2.0
// Verdicts on Python callables that take a mask, a scale, a bias, lengths or temperatures: right ones pass in
// the group `operands`, wrong ones fail there.
#include "reports/cli/check/python_check_test.hpp"

namespace assay {
namespace {

struct One {
  const char *function, *arguments;
};

/// Runs the group `operands` at one row length.
Checked check_operands(const std::string& file, const One& one) {
  return check_callable(python_fixture(file) + ":" + one.function,
                        std::string(one.arguments) + " --host --quick --only operands --V 33 --seed 1");
}

void passes(const std::string& file, const One& one) {
  const Checked c = check_operands(file, one);
  EXPECT_EQ(c.status, kPassed) << one.function << "\n" << c.out << c.err;
  EXPECT_EQ(c.records.size(), 3u) << one.function;
}

void fails(const std::string& file, const One& one) {
  const Checked c = check_operands(file, one);
  EXPECT_EQ(c.status, kFailed) << one.function << "\n" << c.out << c.err;
  for (const Record& r : c.records)
    EXPECT_NE(r.reason.find("element"), std::string::npos) << one.function << ": " << r.reason;
}

TEST(PythonOperandVerdicts, RawTensors) {
  ASSAY_NEEDS_PYTHON("ctypes");
  passes("raw_operands.py", {"masked", "--arg mask=mask_keep"});
  passes("raw_operands.py", {"scaled", ""});
  passes("raw_operands.py", {"cut", ""});
  fails("raw_operands.py", {"inverted", "--arg mask=mask_keep"});
}

TEST(PythonOperandVerdicts, Numpy) {
  ASSAY_NEEDS_PYTHON("numpy");
  for (const One& one : {One{"masked", "--arg mask=mask_keep"},
                         {"masked_into", "--arg mask=mask_keep:bool"},
                         {"dropped", "--arg mask=mask_drop"},
                         {"masked_by_floats", "--arg mask=mask_keep:f32"},
                         {"scaled", ""},
                         {"scaled_between", ""},
                         {"tempered", ""},
                         {"tempered_rows", ""},
                         {"biased", ""},
                         {"biased_row", "--arg bias=bias_row"},
                         {"cut", ""},
                         {"cut_int32", "--arg seq_lens=lengths:i32"},
                         {"everything", "--arg mask=mask_keep --arg axis=-1"}})
    passes("numpy_operands.py", one);
  for (const One& one : {One{"ignores_mask", "--arg mask=mask_keep"},
                         {"scaled_twice", ""},
                         {"first_temperature", ""},
                         {"cut_late", ""}})
    fails("numpy_operands.py", one);
}

TEST(PythonOperandVerdicts, Torch) {
  ASSAY_NEEDS_PYTHON("torch");
  for (const One& one : {One{"masked", "--arg mask=mask_keep"},
                         {"masked_into", "--arg mask=mask_keep"},
                         {"additive", "--arg attn_mask=bias:f32 --types f16"},
                         {"scaled", ""},
                         {"tempered_rows", ""},
                         {"biased", ""},
                         {"cut", ""},
                         {"layer", "--arg mask=mask_drop --arg dim=-1"}})
    passes("torch_operands.py", one);
  for (const One& one : {One{"inverted", "--arg mask=mask_keep"}, {"scaled_twice", ""}, {"cut_early", ""}})
    fails("torch_operands.py", one);
}

// torch.softmax(x, dim=-1) itself: Python cannot list the parameters of a C++ function.
TEST(PythonOperandVerdicts, AConstantGoesToWhatTorchDefines) {
  ASSAY_NEEDS_PYTHON("torch");
  const Checked c = check_callable("torch:softmax", "--arg dim=-1 --host --quick --only shapes --V 33");
  EXPECT_EQ(c.status, kPassed) << c.out << c.err;
}

// All other groups pass neutral operands: there the callable is a plain softmax.
TEST(PythonOperandVerdicts, TheOtherGroupsLeaveThemNeutral) {
  ASSAY_NEEDS_PYTHON("numpy");
  const Checked c =
      check_callable(python_fixture("numpy_operands.py") + ":everything",
                     "--arg mask=mask_keep --arg axis=-1 --quick --only shapes --only layout --only calls");
  EXPECT_EQ(c.status, kPassed) << c.out << c.err;
}

TEST(PythonOperandVerdicts, ItsOwnLineRepeatsACase) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Checked c = check_operands("raw_operands.py", {"inverted", "--arg mask=mask_keep"});
  ASSERT_FALSE(c.records.empty());
  EXPECT_NE(c.records[0].reproduce.find(":inverted --arg mask=mask_keep --host "), std::string::npos)
      << c.records[0].reproduce;
}

TEST(PythonOperandVerdicts, ABadArgumentIsABadCall) {
  ASSAY_NEEDS_PYTHON("ctypes");
  for (const One& one : {One{"masked", ""}, {"masked", "--arg mask=keep"}, {"masked", "--arg z=1"}}) {
    const Checked c = check_operands("raw_operands.py", one);
    EXPECT_EQ(c.status, kBadCall) << one.arguments;
    EXPECT_EQ(c.err.find('\n') + 1, c.err.size()) << c.err;
  }
}

}  // namespace
}  // namespace assay
