// SPDX-License-Identifier: Apache-2.0
// Supervisor::ask, for the files that implement Supervisor.
#pragma once

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <type_traits>

#include "kernels/isolation/supervisor.hpp"

namespace assay::isolation {

/// Sends the request and waits for its answer. The answer is valid until the next one. Throws Failure.
template <class Answer, class Request>
const Answer& Supervisor::ask(Request& request, const std::vector<int>& descriptors) {
  request.head.sequence = ++sequence_;
  // A worker with as many requests as the socket holds has not read what something answered in its name.
  if (!process_->send(request, descriptors))
    lose(errno == EAGAIN ? Process::Heard::message : Process::Heard::gone);
  long length = 0;
  double used = 0;
  const auto asked = std::chrono::steady_clock::now();
  const Process::Heard heard = process_->hear(answer_, length, waiting(), &used);
  if (heard == Process::Heard::message) {
    slowest_ =
        std::max(slowest_, std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count());
    if (std::is_same_v<Request, Launch>)
      disturbance_.ended_seconds = std::max(disturbance_.ended_seconds, used);
    if (arena_->excess() > 0) lose(Process::Heard::excessive);
  }
  const Answer* answer = heard == Process::Heard::message ? as<Answer>(answer_, length, sequence_) : nullptr;
  if (!answer) lose(heard);
  return *answer;
}

}  // namespace assay::isolation
