// SPDX-License-Identifier: Apache-2.0
#include "reference/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <numeric>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "reference/error.hpp"

namespace assay {

int thread_count(int asked) {
  if (asked > 0) return asked;
  const char* const text = std::getenv(kCoresVariable);
  if (!text) return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const std::string_view given = text;
  int cores = 0;
  const auto read = std::from_chars(given.data(), given.data() + given.size(), cores);
  if (read.ec != std::errc() || read.ptr != given.data() + given.size() || cores < 1 || cores > 4096)
    throw InputError(std::string(kCoresVariable) + "=" + text + ": must be a whole number from 1 to 4096");
  return cores;
}

int workers_for(std::size_t count, int asked) {
  const auto threads = static_cast<std::size_t>(thread_count(asked));
  return static_cast<int>(std::clamp<std::size_t>(count, 1, threads));
}

void parallel_for_workers(std::size_t count, int threads,
                          const std::function<void(std::size_t index, int worker)>& body,
                          const std::function<bool(int worker)>& begin) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex, one_begins;
  std::exception_ptr error;
  std::size_t failed = count;  // the lowest index that threw
  const auto begun = [&](int worker) {
    if (!begin || worker == 0) return true;
    const std::lock_guard<std::mutex> first(one_begins);
    if (stop || next >= count) return false;
    try {
      return begin(worker);
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
      stop = true;
      return false;
    }
  };
  const auto work = [&](int worker) {
    if (!begun(worker)) return;
    for (std::size_t i; !stop && (i = next++) < count;) try {
        body(i, worker);
      } catch (...) {
        const std::lock_guard<std::mutex> lock(mutex);
        if (i < failed) failed = i, error = std::current_exception();
        stop = true;
      }
  };
  std::vector<std::thread> others;
  const int workers = workers_for(count, threads);
  others.reserve(static_cast<std::size_t>(workers));
  try {
    for (int w = 1; w < workers; ++w) others.emplace_back(work, w);
  } catch (const std::system_error&) {
    // The threads that did start do all the work.
  }
  work(0);
  for (std::thread& t : others) t.join();
  if (error) std::rethrow_exception(error);
}

std::vector<std::size_t> largest_first(std::size_t count, const std::function<double(std::size_t)>& weight) {
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < count; ++i) weights[i] = weight(i);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  return order;
}

}  // namespace assay
