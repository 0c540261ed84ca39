// Supervisor::ask, for the files that implement Supervisor.
#pragma once

#include <signal.h>

#include "kernels/isolation/supervisor.hpp"

namespace assay::isolation {

/// Sends the request and waits for its answer, which stays valid until the next one. Throws Failure.
template <class Answer, class Request>
const Answer& Supervisor::ask(Request& request, const std::vector<int>& descriptors) {
  request.head.sequence = ++sequence_;
  if (!process_->send(request, descriptors)) lose(Process::Heard::gone);
  long length = 0;
  const Process::Heard heard = process_->hear(answer_, length, options_.timeout_seconds);
  const Answer* answer = heard == Process::Heard::message ? as<Answer>(answer_, length, sequence_) : nullptr;
  if (!answer) lose(heard);
  return *answer;
}

}  // namespace assay::isolation
