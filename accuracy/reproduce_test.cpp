// SPDX-License-Identifier: Apache-2.0
// The line that repeats a case: its parts, their order, and how a shell reads it.
#include "accuracy/reproduce.hpp"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Reproduce, ACaseOfTheRegistryIsAReportsOne) {
  const Variant& v = *find_variant("online_topk_block/f16@host");
  EXPECT_EQ(reproduce(repeat_of(v, "ties", v.op, shape_of(4, 33, 5), 7)),
            "assay report --key online_topk_block/f16@host --family ties --V 33 --rows 4 --seed 7 --k 5");
  EXPECT_EQ(
      reproduce(repeat_of(v, "ties", Op::normalizer, shape_of(4, 33, 5), 7)),
      "assay report --key online_topk_block/f16@host --family ties --V 33 --rows 4 --seed 7 --op normalizer");
}

TEST(Reproduce, EmptyFieldsAreLeftOutAndWordsAreQuoted) {
  EXPECT_EQ(reproduce({"replay here.case"}), "assay replay here.case");
  Repeat r{"check 'a b.so'"};
  r.group = "layout";
  r.setup = "no such";
  r.dtype = Dtype::bf16;
  r.declare = "height=V; exp=fast";
  r.max_ulp = 1.5;
  r.extent = "quick";
  r.pitch = 40;
  EXPECT_EQ(
      reproduce(r),
      "assay check 'a b.so' --only layout --setup 'no such' --dtype bf16 --declare 'height=V; exp=fast' "
      "--max-ulp 1.5 --quick --pitch 40");
}

}  // namespace
}  // namespace assay
