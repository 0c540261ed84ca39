// The project's one loop over threads: whichever is free takes the next index, in order, and the caller is
// one of them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace assay {

/// As many as were asked for; 0 or less: one per core.
int thread_count(int asked);

/// Threads that `count` indices can keep busy: thread_count(asked), no more than count, at least 1.
int workers_for(std::size_t count, int asked);

/// body(index, worker) for every index below count, with 0 <= worker < workers_for(count, threads): a place
/// for what each thread keeps to itself. Where the system gives fewer threads, those do all the work. After a
/// body has thrown no further index is taken; when all threads are done the exception of the lowest index is
/// thrown.
///
/// `begin(worker)` comes before a thread's first index, one thread after another while those that have begun
/// are at work: where it returns false the thread takes none. Not on worker 0, nor when no index is left.
/// What it throws ends the loop like a body's exception, and gives way to one.
void parallel_for_workers(std::size_t count, int threads,
                          const std::function<void(std::size_t index, int worker)>& body,
                          const std::function<bool(int worker)>& begin = {});

/// The same for a body(index) that does not ask which thread it is on.
template <class Body>
void parallel_for(std::size_t count, int threads, Body&& body) {
  parallel_for_workers(count, threads, [&body](std::size_t i, int) { body(i); });
}

/// Indices below count, largest weight first and equal ones in order: so that no thread starts a long piece
/// when the others are done.
std::vector<std::size_t> largest_first(std::size_t count, const std::function<double(std::size_t)>& weight);

}  // namespace assay
