#include "accuracy/functions/quotient_sweep.hpp"

#include <nlohmann/json.hpp>

#include "kernels/device.hpp"

namespace assay {

QuotientSweep sweep_quotients([[maybe_unused]] std::int64_t stride) {
  QuotientSweep q;
  q.status = "not_run";
  q.reason = unavailable_reason(Backend::cuda);
#if defined(ASSAY_WITH_CUDA)
  if (q.reason.empty()) {
    q = sweep_quotients_on_device(stride);
    q.status = q.wrong == 0 && q.divisors > 0 ? "pass" : "fail";
  }
#endif
  return q;
}

nlohmann::json to_json(const QuotientSweep& q) {
  return {{"status", q.status},   {"reason", q.reason},       {"divisors", q.divisors}, {"wrong", q.wrong},
          {"divisor", q.divisor}, {"numerator", q.numerator}, {"seconds", q.seconds}};
}

QuotientSweep quotient_sweep_from_json(const nlohmann::json& j) {
  QuotientSweep q;
  j.at("status").get_to(q.status);
  j.at("reason").get_to(q.reason);
  j.at("divisors").get_to(q.divisors);
  j.at("wrong").get_to(q.wrong);
  j.at("divisor").get_to(q.divisor);
  j.at("numerator").get_to(q.numerator);
  j.at("seconds").get_to(q.seconds);
  return q;
}

}  // namespace assay
