// SPDX-License-Identifier: Apache-2.0
#if defined(ASSAY_WITH_CUDA)

#include <algorithm>

#include "accuracy/device_array.hpp"
#include "reports/sweep/rig/rig_kernels.hpp"
#include "reports/sweep/split/split_rig.hpp"

namespace assay {
namespace {

// Words beside the number of the run.
constexpr int kDrawn = 1, kReadSink = 8;
constexpr std::uint64_t kMostHoldOfSplit = 20'000'000;  // ns; then a host that is slow to queue is timed

void use(int device) { check_cuda(cudaSetDevice(device), "selecting a device"); }

/// Streams of one priority each: the exchange first, because others wait for it, then the outputs, because
/// what they read must not leave the L2.
cudaStream_t stream_of(int place) {
  int least = 0, greatest = 0;
  check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), "asking for priorities");
  cudaStream_t s = nullptr;
  check_cuda(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, std::min(least, greatest + place)),
             "creating a stream");
  return s;
}

std::vector<cudaEvent_t> events(std::size_t count) {
  std::vector<cudaEvent_t> all(count);
  for (cudaEvent_t& e : all)
    check_cuda(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "creating an event");
  return all;
}

}  // namespace

struct SplitPipeline::Gpu {
  SplitMemory memory;
  int own = 0;
  cudaStream_t read = nullptr, write = nullptr;
  std::vector<cudaStream_t> meet;  // one a team
  cudaEvent_t begin = nullptr, end = nullptr;
  std::vector<cudaEvent_t> summed, gathered, written;  // of each chunk
  std::unique_ptr<DeviceArray> values, number, flush;
  cudaGraphExec_t graph = nullptr;

  Gpu(const SplitMemory& m, int index, int teams, std::size_t chunks, std::size_t value_bytes,
      std::size_t flush_bytes)
      : memory(m), own(index) {
    use(m.device);
    for (int i = 0; i < teams; ++i) meet.push_back(stream_of(0));
    write = stream_of(1);
    read = stream_of(2);
    check_cuda(cudaEventCreate(&begin), "creating an event");
    check_cuda(cudaEventCreate(&end), "creating an event");
    summed = events(chunks);
    gathered = events(chunks);
    written = events(chunks);
    values = std::make_unique<DeviceArray>(value_bytes);
    number = std::make_unique<DeviceArray>(256);
    check_cuda(cudaMemset(values->data(), 0, value_bytes), "clearing");
    check_cuda(cudaMemset(number->data(), 0, 256), "clearing");
    if (flush_bytes > 0) {
      flush = std::make_unique<DeviceArray>(flush_bytes);
      check_cuda(cudaMemset(flush->data(), 0, flush_bytes), "clearing");
    }
    check_cuda(cudaDeviceSynchronize(), "clearing");
  }
  ~Gpu() {
    cudaSetDevice(memory.device);
    cudaDeviceSynchronize();
    if (graph) cudaGraphExecDestroy(graph);
    for (auto* list : {&summed, &gathered, &written})
      for (const cudaEvent_t e : *list) cudaEventDestroy(e);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    meet.insert(meet.end(), {read, write});
    for (const cudaStream_t s : meet) cudaStreamDestroy(s);
  }
};

SplitPipeline::SplitPipeline(const SplitShape& shape, const SplitWays& ways,
                             const std::vector<SplitMemory>& memory,
                             const std::vector<std::unique_ptr<NcclTeam>>& teams, std::size_t flush)
    : shape_(shape),
      ways_(ways),
      kernels_(*find_split_kernels(Backend::cuda, shape.dtype, shape.fast)),
      teams_(teams),
      chunks_(row_chunks(shape.rows, ways.chunk_rows)),
      blocks_(holds(ways.exchange) ? 1 : kernels_.blocks(memory.front().slice.count)),
      flush_(flush) {
  // NCCL: one (m, d) a value. Peers: 16 bytes a value, and places for odd and even runs.
  const std::size_t all = static_cast<std::size_t>(shape.gpus * shape.rows * blocks_) * (gathers() ? 8 : 32);
  for (const SplitMemory& m : memory)
    gpus_.push_back(
        std::make_unique<Gpu>(m, static_cast<int>(gpus_.size()), ways.teams, chunks_.size(), all, flush));
  for (const auto& g : gpus_) places_.of[g->own] = g->values->data();
  void* shared = nullptr;
  check_cuda(cudaHostAlloc(&shared, sizeof *flag_, cudaHostAllocMapped | cudaHostAllocPortable),
             "allocating");
  flag_ = static_cast<unsigned*>(shared);
  *flag_ = 0;
  // The first run loads the kernels and lets NCCL connect, which a capture or a held stream would disturb.
  enqueue();
  for (const auto& g : gpus_) {
    use(g->memory.device);
    check_cuda(cudaDeviceSynchronize(), "the first run");
  }
  if (ways_.graph) capture();
}

SplitPipeline::~SplitPipeline() {
  gpus_.clear();
  cudaFreeHost(flag_);
}

SplitCall SplitPipeline::call(const Gpu& g, std::size_t chunk) const {
  const Span rows = chunks_[chunk];
  const std::size_t skipped =
      static_cast<std::size_t>(rows.first * g.memory.slice.count) * size_of(shape_.dtype);
  SplitCall c;
  c.logits = g.memory.logits + skipped;
  c.probs = g.memory.probs + skipped;
  c.in_pitch = c.out_pitch = c.columns = g.memory.slice.count;
  c.rows = rows.count;
  c.blocks = blocks_;
  c.parts = shape_.gpus;
  c.own = g.own;
  c.keep = ways_.keep;
  if (gathers()) {
    c.all = g.values->as<float>() + 2 * rows.first * shape_.gpus * blocks_;
  } else {
    c.places = places_;
    c.number = g.number->as<unsigned>();
    if (ways_.exchange == Exchange::held) c.drawn = g.number->as<unsigned>() + kDrawn;
    c.first = rows.first;
    c.all_rows = shape_.rows;
  }
  return c;
}

void SplitPipeline::enqueue_sums(Gpu& g, std::size_t chunk) {
  use(g.memory.device);
  const auto depth = static_cast<std::size_t>(ways_.depth);
  if (chunk >= depth)
    check_cuda(cudaStreamWaitEvent(g.read, g.written[chunk - depth], 0), "waiting for a chunk");
  kernels_.sums(call(g, chunk), Stream{g.read});
  check_cuda(cudaGetLastError(), "launching the sums");
  check_cuda(cudaEventRecord(g.summed[chunk], g.read), "recording an event");
}

void SplitPipeline::exchange(std::size_t chunk) {
  std::vector<float*> all;
  std::vector<void*> streams;
  const std::size_t team = chunk % static_cast<std::size_t>(ways_.teams);
  for (const auto& g : gpus_) {
    use(g->memory.device);
    check_cuda(cudaStreamWaitEvent(g->meet[team], g->summed[chunk], 0), "waiting for the sums");
    all.push_back(call(*g, chunk).all);
    streams.push_back(g->meet[team]);
  }
  teams_[team]->all_gather(all, static_cast<std::size_t>(2 * chunks_[chunk].count * blocks_), streams);
  for (const auto& g : gpus_) {
    use(g->memory.device);
    check_cuda(cudaEventRecord(g->gathered[chunk], g->meet[team]), "recording an event");
  }
}

void SplitPipeline::enqueue_outputs(Gpu& g, std::size_t chunk) {
  use(g.memory.device);
  check_cuda(cudaStreamWaitEvent(g.write, gathers() ? g.gathered[chunk] : g.summed[chunk], 0),
             "waiting for values");
  kernels_.outputs(call(g, chunk), Stream{g.write});
  check_cuda(cudaGetLastError(), "launching the outputs");
  check_cuda(cudaEventRecord(g.written[chunk], g.write), "recording an event");
}

void SplitPipeline::enqueue() {
  if (!gathers())
    for (const auto& g : gpus_) {
      use(g->memory.device);
      kernels_.next_number(g->number->as<unsigned>(), g->number->as<unsigned>() + kDrawn, Stream{g->read});
    }
  if (holds(ways_.exchange)) {
    for (const auto& g : gpus_) {
      use(g->memory.device);
      kernels_.held(call(*g, 0), Stream{g->read});
      check_cuda(cudaGetLastError(), "launching the rows");
    }
    return;
  }
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    for (const auto& g : gpus_) enqueue_sums(*g, i);
    if (gathers()) exchange(i);
    for (const auto& g : gpus_) enqueue_outputs(*g, i);
  }
  // Outputs are written in the order of the chunks, so the last one ends the run.
  for (const auto& g : gpus_) {
    use(g->memory.device);
    check_cuda(cudaStreamWaitEvent(g->read, g->written.back(), 0), "waiting for the last chunk");
  }
}

void SplitPipeline::capture() {
  for (const auto& g : gpus_) {
    use(g->memory.device);
    check_cuda(cudaStreamBeginCapture(g->read, cudaStreamCaptureModeThreadLocal), "beginning a capture");
  }
  enqueue();
  // No graph can be made while this thread still captures a stream, so all captures end first.
  std::vector<cudaGraph_t> graphs;
  for (const auto& g : gpus_) {
    use(g->memory.device);
    graphs.push_back(nullptr);
    check_cuda(cudaStreamEndCapture(g->read, &graphs.back()), "ending a capture");
  }
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    Gpu& g = *gpus_[i];
    use(g.memory.device);
    const cudaError_t made = cudaGraphInstantiate(&g.graph, graphs[i], 0);
    cudaGraphDestroy(graphs[i]);
    check_cuda(made, "making a graph");
    check_cuda(cudaGraphUpload(g.graph, g.read), "uploading a graph");
    check_cuda(cudaStreamSynchronize(g.read), "uploading a graph");
  }
}

std::vector<double> SplitPipeline::run_us() {
  ++ticket_;
  for (const auto& g : gpus_) {
    use(g->memory.device);
    // Flushes by reading: replacing clean cache lines costs the run nothing.
    if (flush_ > 0)
      rig::enqueue_read(g->read, g->flush->data(), flush_, g->number->as<unsigned>() + kReadSink);
    // Everything queues up behind this kernel, and all GPUs go on at the same moment.
    rig::enqueue_hold(g->read, flag_, ticket_, kMostHoldOfSplit);
    check_cuda(cudaEventRecord(g->begin, g->read), "recording an event");
  }
  if (ways_.graph) {
    for (const auto& g : gpus_) {
      use(g->memory.device);
      check_cuda(cudaGraphLaunch(g->graph, g->read), "launching a graph");
    }
  } else {
    enqueue();
  }
  for (const auto& g : gpus_) {
    use(g->memory.device);
    check_cuda(cudaEventRecord(g->end, g->read), "recording an event");
  }
  *static_cast<volatile unsigned*>(flag_) = ticket_;
  std::vector<double> us;
  for (const auto& g : gpus_) {
    use(g->memory.device);
    check_cuda(cudaEventSynchronize(g->end), "a run");
    check_cuda(cudaGetLastError(), "a run");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, g->begin, g->end), "reading the events");
    us.push_back(static_cast<double>(ms) * 1000);
  }
  return us;
}

}  // namespace assay

#endif
