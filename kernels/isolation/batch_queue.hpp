// SPDX-License-Identifier: Apache-2.0
// Launches that several threads want at the same time. One of the threads takes all that wait, and makes them
// together; the others wait for it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace assay::isolation {

template <class Item>
class BatchQueue {
 public:
  using Make = std::function<void(const std::vector<Item*>& items)>;

  /// `most`: items of a batch, `most_bytes`: of a batch of several.
  BatchQueue(std::size_t most, std::uint64_t most_bytes) : most_(most), most_bytes_(most_bytes) {}

  /// Returns when the item was in a batch. Batches are made one at a time, each by one of the threads that
  /// wait for it, of items in the order in which they came. `make` must not throw.
  void add(Item& item, std::uint64_t bytes, const Make& make) {
    std::unique_lock<std::mutex> lock(mutex_);
    Waiting mine{&item, bytes};
    waiting_.push_back(&mine);
    while (!mine.done) {
      if (makes_) {
        changed_.wait(lock);
        continue;
      }
      makes_ = true;
      const std::vector<Waiting*> batch = next();
      std::vector<Item*> items;
      for (const Waiting* w : batch) items.push_back(w->item);
      lock.unlock();
      make(items);
      lock.lock();
      for (Waiting* w : batch) w->done = true;
      makes_ = false;
      changed_.notify_all();
    }
  }

 private:
  struct Waiting {
    Item* item;
    std::uint64_t bytes;
    bool done = false;
  };

  std::vector<Waiting*> next() {
    std::vector<Waiting*> batch;
    std::uint64_t bytes = 0;
    while (!waiting_.empty() && batch.size() < most_) {
      bytes += waiting_.front()->bytes;
      if (!batch.empty() && bytes > most_bytes_) break;
      batch.push_back(waiting_.front());
      waiting_.pop_front();
    }
    return batch;
  }

  const std::size_t most_;
  const std::uint64_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting*> waiting_;
  bool makes_ = false;
};

}  // namespace assay::isolation
