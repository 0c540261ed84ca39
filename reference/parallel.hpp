// SPDX-License-Identifier: Apache-2.0
// The project's only loop over threads. A free thread takes the next index, in order; the caller is one of
// the threads.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace assay {

/// If this environment variable is set, the program takes it for the number of cores: a process that shares
/// the machine with others of its kind, or a container whose share no system call tells.
inline constexpr const char* kCoresVariable = "ASSAY_CORES";

/// Number of threads: as asked, or one per core if `asked` is 0 or less. Throws InputError if kCoresVariable
/// is no number from 1 to 4096.
int thread_count(int asked);

/// Number of threads that `count` indices can keep busy: thread_count(asked), at most count, at least 1.
int workers_for(std::size_t count, int asked);

/// Calls body(index, worker) for every index below count, with 0 <= worker < workers_for(count, threads).
/// `worker` is the place for what each thread keeps to itself. If the system gives fewer threads, those do
/// all the work. After a body has thrown, no further index is taken. When all threads are done, the exception
/// of the lowest index is thrown.
///
/// `begin(worker)` is called before a thread's first index. Threads begin one after another, while those that
/// have begun already work. If it returns false, that thread takes no index. It is not called on worker 0,
/// nor when no index is left. An exception from it ends the loop like one from a body; if a body throws too,
/// the body's is thrown.
void parallel_for_workers(std::size_t count, int threads,
                          const std::function<void(std::size_t index, int worker)>& body,
                          const std::function<bool(int worker)>& begin = {});

/// The same, for a body(index) that does not need the worker.
template <class Body>
void parallel_for(std::size_t count, int threads, Body&& body) {
  parallel_for_workers(count, threads, [&body](std::size_t i, int) { body(i); });
}

/// Indices below count, largest weight first, equal weights in order. No thread then starts a long piece of
/// work when the others are done.
std::vector<std::size_t> largest_first(std::size_t count, const std::function<double(std::size_t)>& weight);

}  // namespace assay
