// SPDX-License-Identifier: Apache-2.0
// The text of a faulted launch: the fault, then the threads of each block grouped by where they are.
#include <map>

#include "kernels/host/lanes.hpp"

namespace assay::executor {
namespace {

const char* name(Collective c) {
  static constexpr const char* names[] = {
      "__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
      "__shfl_xor_sync",   "__ballot_sync",     "__all_sync",        "__any_sync",
      "__match_any_sync",  "__match_all_sync",  "__reduce_add_sync", "__reduce_min_sync",
      "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync"};
  return names[static_cast<int>(c)];
}

const char* name(Barrier b) {
  static constexpr const char* names[] = {
      "__syncthreads",    "__syncthreads_count",        "__syncthreads_and",
      "__syncthreads_or", "the barrier of the cluster", "an mbarrier's wait",
      "a transfer"};
  return names[static_cast<int>(b)];
}

/// For example "0-3,7". Cut after eight ranges.
std::string ranges(const std::vector<unsigned>& threads) {
  std::string text;
  for (std::size_t i = 0, shown = 0; i < threads.size(); ++shown) {
    std::size_t j = i;
    while (j + 1 < threads.size() && threads[j + 1] == threads[j] + 1) ++j;
    if (shown == 8) return text + ",... (" + std::to_string(threads.size()) + " in all)";
    if (i > 0) text += ",";
    text += std::to_string(threads[i]);
    if (j > i) text += "-" + std::to_string(threads[j]);
    i = j + 1;
  }
  return text;
}

/// Where a thread is that has not exited.
std::string place_of(const Lane& lane, const Warp& warp) {
  const unsigned t = lane.index % 32;
  if ((warp.runnable >> t & 1) || !lane.site) return "are elsewhere";
  std::string file = lane.site->file_name();
  file.erase(0, file.rfind('/') + 1);
  const bool at_barrier = (warp.at_barrier | warp.at_cluster | warp.at_mbarrier) >> t & 1;
  std::string text = std::string("wait in ") + (at_barrier ? name(lane.barrier) : name(lane.op));
  if ((warp.at_mbarrier >> t & 1) && lane.barrier == Barrier::mbarrier && lane.mbarrier) {
    const Mbarrier& b = *lane.mbarrier;
    const std::string bytes = std::to_string(b.bytes < 0 ? -b.bytes : b.bytes);
    text += b.missing > 0 ? " (nobody has said how many bytes)"
            : b.bytes < 0 ? " (" + bytes + " bytes too many have arrived)"
                          : " (" + bytes + " bytes have not arrived)";
  }
  return text + " at " + file + ":" + std::to_string(lane.site->line());
}

}  // namespace

std::string fault_text(const std::string& what, const std::vector<Block*>& blocks, unsigned threads) {
  std::string text = what;
  for (const Block* block : blocks) {
    std::map<std::string, std::vector<unsigned>> where;
    for (unsigned t = 0; t < threads; ++t) {
      const Lane& lane = *block->lanes[t];
      where[lane.done ? "have exited" : place_of(lane, block->warps[t / 32])].push_back(t);
    }
    const Dim3& b = block->lanes[0]->identity.blockIdx;
    text += "; block " + std::to_string(b.x) + "," + std::to_string(b.y) + "," + std::to_string(b.z);
    const char* separator = ": threads ";
    for (const auto& [state, group] : where) {
      text += separator + ranges(group) + " " + state;
      separator = "; threads ";
    }
  }
  return text;
}

}  // namespace assay::executor
