// SPDX-License-Identifier: Apache-2.0
// Launches of several threads on a device, made in one request: one copy to the device, all launches, one
// wait, one copy back. Launches whose batch shows anything but right calls are made again one by one.
#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <memory>
#include <utility>

#include "kernels/fault_kind.hpp"
#include "kernels/isolation/supervisor.hpp"
#include "reference/error.hpp"

namespace assay::isolation {
namespace {

/// After so many batches that failed, every launch is made by itself: a kernel that ends its process would
/// end it again.
constexpr int kMostFailedBatches = 2;

}  // namespace

bool Supervisor::shares_launches() const {
  // An interpreter may compile at any launch, and enqueues launches slowly.
  return subject_.command.words.empty() && subject_.first_times <= 1;
}

/// What a batch that ended its worker did, until all of its launches were made again by themselves.
struct Supervisor::DiedTogether {
  DiedTogether(LaunchOutcome how, std::size_t launches) : death(std::move(how)), left(launches) {}
  LaunchOutcome death;
  std::atomic<std::size_t> left;
  std::atomic<bool> again{false};  // one of them was wrong by itself
};

/// What one thread wants.
struct Supervisor::InBatch {
  std::uint32_t entry;
  const Variant& variant;
  const Problem& problem;
  Images& images;
  const LaunchOptions& options;
  bool made = false;
  LaunchOutcome outcome = {};
  std::shared_ptr<DiedTogether> died = {};
};

bool Supervisor::launch_in_batch(std::uint32_t entry, const Variant& variant, const Problem& problem,
                                 Images& images, const LaunchOptions& options, LaunchOutcome& outcome,
                                 std::shared_ptr<DiedTogether>& died) {
  if (!shares_launches() || failed_batches_ >= kMostFailedBatches) return false;
  if (!LaunchesTogether::wanted() || options.page_end || options.delayed_producer || options.slot != 0)
    return false;
  const std::uint64_t bytes = bytes_in_batch(images);
  if (bytes > kBytesOfBatched) return false;
  InBatch item{entry, variant, problem, images, options};
  batches_.add(item, bytes, [this](const std::vector<InBatch*>& items) { make_batch(items); });
  outcome = std::move(item.outcome);
  died = std::move(item.died);
  return item.made;
}

void Supervisor::after_batch(const std::shared_ptr<DiedTogether>& died, LaunchOutcome& outcome) {
  if (!died) return;
  if (!outcome.ok()) died->again = true;
  if (--died->left == 0 && !died->again) outcome = died->death;
}

void Supervisor::make_batch(const std::vector<InBatch*>& items) {
  if (failed_batches_ >= kMostFailedBatches) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!LaunchesWhile::go_on()) return;
  for (const auto& [thread, of] : callers_)
    if (!of.workspace_failure.ok()) return;
  // What befalls a batch befalls none of its launches: they are made again.
  const Caller before = caller();
  const bool hung = hung_;
  LaunchOutcome death;
  bool failed = true;
  try {
    failed = !try_batch(items, death);
  } catch (const Failure& f) {
    // A wait that was too long, or what came from elsewhere, says nothing of a launch by itself.
    if (f.ended == Ended::crashed && !f.from_outside) death = f.outcome();
    if (f.ended == Ended::hung) failed_batches_ = kMostFailedBatches;
  } catch (const std::exception&) {
    // No worker, or no memory: the launches by themselves say what is wrong.
  }
  on_device_ = false;
  elements_ = -1;
  if (!failed) return;
  caller() = before;
  hung_ = hung;
  ++failed_batches_;
  std::shared_ptr<DiedTogether> died;
  if (!death.ok()) {
    death.fault = fmt::format("{}: in one of {} launches one after another, none of which does so by itself",
                              death.fault, items.size());
    died = std::make_shared<DiedTogether>(std::move(death), items.size());
  }
  for (InBatch* const i : items) i->made = false, i->died = died;
}

bool Supervisor::try_batch(const std::vector<InBatch*>& items, LaunchOutcome& death) {
  if (of_parts_) drop_worker();
  start();
  on_device_ = true;
  await_context();
  elements_ = 0;
  auto request = std::make_unique<Batch>();
  std::vector<Images*> images;
  for (const InBatch* i : items) {
    BatchedLaunch& one = request->launches[request->count++];
    const Launch alone = request_of(i->entry, true, i->variant, i->problem, i->options);
    one.entry = alone.entry;
    one.in_place = alone.in_place;
    one.normalizer = alone.normalizer;
    one.default_stream = alone.default_stream;
    one.max_blocks = alone.max_blocks;
    one.problem = alone.problem;
    one.workspace = i->images.workspace.payload_bytes();
    elements_ += i->problem.rows * i->problem.V;
    images.push_back(&i->images);
  }
  if (!device_.put_batch(*request, images).ok()) return false;
  const Batched answer = ask<Batched>(*request);  // valid after the next one
  if (answer.failed) {
    if (!answer.lacked) death = {answer.why.plain(), Ended::crashed, {}, 0, FaultKind::other};
    drop_worker();  // its context may be lost
    return false;
  }
  launched_ = true;
  for (std::size_t n = 0; n < items.size(); ++n) look_at_files();
  if (!device_.read_batch().ok()) return false;
  Settle settle;
  settle.on_device = 1;
  const Settled& settled = ask<Settled>(settle);
  if (std::string fault = settled.fault.plain(); settled.spoilt || !fault.empty()) {
    death = {std::move(fault), Ended::crashed, {}, 0, fault_kind_of(settled.kind)};
    drop_worker();
    return false;
  }
  const std::vector<int> changed = device_.changed_in_batch(images);
  if (changed.empty()) return false;
  std::vector<bool> taken(items.size());
  for (std::size_t n = 0; n < items.size(); ++n) {
    const std::string fault = answer.fault[n].plain();
    const FaultKind kind = fault_kind_of(answer.kind[n]);
    // A launcher that refuses has done nothing. Any other fault is looked at by itself, with images that have
    // not changed.
    const bool refused = !fault.empty() && says_no(kind) && answer.fault[n].whole();
    if (taken[n] = fault.empty() || refused; !taken[n]) continue;
    items[n]->made = true;
    if (refused) items[n]->outcome = {fault, Ended::fault, {}, 0, kind};
    if (changed[n] >= 0) items[n]->outcome.late_write = changed_late(changed[n]);
  }
  device_.take_batch(images, taken);
  return true;
}

}  // namespace assay::isolation
