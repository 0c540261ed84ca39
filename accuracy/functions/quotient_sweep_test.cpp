// SPDX-License-Identifier: Apache-2.0
#include "accuracy/functions/quotient_sweep.hpp"

#include <gtest/gtest.h>

#include "accuracy/functions/result_fields.hpp"
#include "kernels/device.hpp"

namespace assay {
namespace {

TEST(QuotientSweep, SaysWhyItDidNotRun) {
  if (unavailable_reason(Backend::cuda).empty()) GTEST_SKIP() << "it can run here";
  const QuotientSweep q = sweep_quotients(1);
  EXPECT_EQ(q.status, "not_run");
  EXPECT_FALSE(q.reason.empty());
  EXPECT_EQ(fields_from_json<QuotientSweep>(fields_to_json(q)).reason, q.reason);
}

#if defined(ASSAY_WITH_CUDA)
TEST(QuotientSweep, PassesOnADeviceAndSeesAWrongReciprocal) {
  if (const std::string why = unavailable_reason(Backend::cuda); !why.empty()) GTEST_SKIP() << why;
  const QuotientSweep q = sweep_quotients(1009);
  EXPECT_EQ(q.status, "pass");
  EXPECT_EQ(q.divisors, (kMantissas + 1008) / 1009);
  EXPECT_GT(sweep_quotients_on_device(1009, 4).wrong, 0);
}
#endif

}  // namespace
}  // namespace assay
