// The text of a faulted launch: the fault, then the block's threads grouped by where they are.
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
  static constexpr const char* names[] = {"__syncthreads", "__syncthreads_count", "__syncthreads_and",
                                          "__syncthreads_or"};
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

}  // namespace

std::string fault_text(const std::string& what, const std::vector<std::unique_ptr<Lane>>& lanes,
                       const std::vector<Warp>& warps, unsigned threads) {
  std::map<std::string, std::vector<unsigned>> where;
  for (unsigned t = 0; t < threads; ++t) {
    const Lane& lane = *lanes[t];
    const Warp& warp = warps[t / 32];
    if (lane.done) {
      where["have exited"].push_back(t);
    } else if ((warp.runnable >> t % 32 & 1) || !lane.site) {
      where["are elsewhere"].push_back(t);
    } else {
      std::string file = lane.site->file_name();
      file.erase(0, file.rfind('/') + 1);
      const char* call = (warp.at_barrier >> t % 32 & 1) ? name(lane.barrier) : name(lane.op);
      where[std::string("wait in ") + call + " at " + file + ":" + std::to_string(lane.site->line())]
          .push_back(t);
    }
  }
  const Dim3& b = lanes[0]->identity.blockIdx;
  std::string text =
      what + "; block " + std::to_string(b.x) + "," + std::to_string(b.y) + "," + std::to_string(b.z);
  const char* separator = ": threads ";
  for (const auto& [state, group] : where) {
    text += separator + ranges(group) + " " + state;
    separator = "; threads ";
  }
  return text;
}

}  // namespace assay::executor
