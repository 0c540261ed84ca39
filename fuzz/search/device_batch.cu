// SPDX-License-Identifier: Apache-2.0
// Device batches: one block makes each row, the candidate runs on all rows, the fast judge looks at all rows.
// Compiled with -fmad=false: the logits must equal the host's.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "accuracy/device_array.hpp"
#include "accuracy/fast_judge/fast_judge.hpp"
#include "fuzz/genome_element.hpp"
#include "fuzz/search/device_batch.hpp"
#include "kernels/device.hpp"

namespace assay::fuzz {
namespace {

constexpr int kThreads = 256;
constexpr std::size_t kGuard = 512;      // bytes of guard band on either side of the outputs
constexpr unsigned char kCanary = 0xc5;  // a finite pattern, so that a NaN written there shows too

/// The genome that a row belongs to.
struct RowOf {
  std::int32_t genome, row;
};

/// Smallest and largest finite logit of a row.
struct Span {
  float lo, hi;
};

template <Dtype kType>
__device__ float value_of(typename Stored<kType>::Bits b) {
  if constexpr (kType == Dtype::f32) return __uint_as_float(b);
  if constexpr (kType == Dtype::bf16) return __uint_as_float(std::uint32_t{b} << 16);
  if constexpr (kType == Dtype::f16) return f16_value(b);
}

template <Dtype kType>
__global__ void __launch_bounds__(kThreads)
    make_rows(const PreparedGenome* genomes, const RowOf* rows, std::int64_t count, std::int64_t V,
              typename Stored<kType>::Bits* logits, Span* spans) {
  __shared__ alignas(PreparedGenome) unsigned char shared_genome[sizeof(PreparedGenome)];
  __shared__ float lows[kThreads], highs[kThreads];
  for (std::int64_t r = blockIdx.x; r < count; r += gridDim.x) {
    __syncthreads();
    const auto* from = reinterpret_cast<const std::uint64_t*>(genomes + rows[r].genome);
    static_assert(sizeof(PreparedGenome) % sizeof(std::uint64_t) == 0);
    const auto& g = *reinterpret_cast<const PreparedGenome*>(shared_genome);
    for (unsigned i = threadIdx.x; i < sizeof g / sizeof *from; i += kThreads)
      reinterpret_cast<std::uint64_t*>(shared_genome)[i] = from[i];
    __syncthreads();
    float lo = __builtin_huge_valf(), hi = -__builtin_huge_valf();
    for (std::int64_t i = threadIdx.x; i < V; i += kThreads) {
      const auto bits = logit_bits<kType>(g, rows[r].row, i);
      logits[r * V + i] = bits;
      const float x = value_of<kType>(bits);
      if (x > -__builtin_huge_valf() && x < lo) lo = x;
      if (x < __builtin_huge_valf() && x > hi) hi = x;
    }
    lows[threadIdx.x] = lo;
    highs[threadIdx.x] = hi;
    for (unsigned half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) {
        lows[threadIdx.x] = fminf(lows[threadIdx.x], lows[threadIdx.x + half]);
        highs[threadIdx.x] = fmaxf(highs[threadIdx.x], highs[threadIdx.x + half]);
      }
    }
    if (threadIdx.x == 0) spans[r] = {lows[0], highs[0]};
  }
}

void launch_make_rows(Dtype dtype, const PreparedGenome* genomes, const RowOf* rows, std::int64_t count,
                      std::int64_t V, void* logits, Span* spans, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(count, 1 << 20));
  const auto make = [&]<Dtype kType>() {
    make_rows<kType><<<blocks, kThreads, 0, stream>>>(
        genomes, rows, count, V, static_cast<typename Stored<kType>::Bits*>(logits), spans);
  };
  if (dtype == Dtype::f32)
    make.template operator()<Dtype::f32>();
  else if (dtype == Dtype::f16)
    make.template operator()<Dtype::f16>();
  else if (dtype == Dtype::bf16)
    make.template operator()<Dtype::bf16>();
  else
    throw std::runtime_error("device batches are of f16, bf16 and f32");
  check_cuda(cudaGetLastError(), "making rows");
}

void copy_to_device(void* to, const void* from, std::size_t bytes) {
  check_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the device");
}

/// Elements farther than this (in nats) below the maximum may have subnormal outputs.
double nearest_far(Dtype t) { return -std::log(min_normal(t)) - 4; }

}  // namespace

struct DeviceBatch::Memory {
  Memory(std::int64_t most_elements, std::int64_t most_rows, std::size_t element)
      : elements(most_elements),
        rows(most_rows),
        logits(static_cast<std::size_t>(most_elements) * element),
        probs(static_cast<std::size_t>(most_elements) * element + 2 * kGuard),
        m(static_cast<std::size_t>(most_rows) * sizeof(float)),
        d(static_cast<std::size_t>(most_rows) * sizeof(float)),
        genomes(static_cast<std::size_t>(most_rows) * sizeof(PreparedGenome)),
        row_of(static_cast<std::size_t>(most_rows) * sizeof(RowOf)),
        spans(static_cast<std::size_t>(most_rows) * sizeof(Span)) {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
  }
  ~Memory() { cudaStreamDestroy(stream); }

  /// Memory of at least so many bytes; null for 0.
  void* workspace_of(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (bytes > workspace_bytes) {
      workspace = std::make_unique<DeviceArray>(bytes);
      workspace_bytes = bytes;
    }
    return workspace->data();
  }

  std::int64_t elements, rows;
  DeviceArray logits, probs, m, d, genomes, row_of, spans;
  std::unique_ptr<DeviceArray> workspace;
  std::size_t workspace_bytes = 0;
  cudaStream_t stream = nullptr;
};

DeviceBatch::DeviceBatch(const Variant& variant, std::int64_t elements, std::int64_t rows)
    : variant_(variant) {
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  memory_ = std::make_unique<Memory>(elements, rows, size_of(variant.dtype));
}
DeviceBatch::~DeviceBatch() = default;

std::vector<Evaluation> DeviceBatch::operator()(std::span<const Genome> genomes,
                                                std::vector<bool>& look_again) {
  Memory& mem = *memory_;
  std::vector<Evaluation> results(genomes.size());
  look_again.assign(genomes.size(), false);
  if (genomes.empty()) return results;
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  const std::int64_t V = genomes[0].V;
  std::vector<PreparedGenome> prepared;
  std::vector<RowOf> owners;
  for (std::size_t i = 0; i < genomes.size(); ++i) {
    if (genomes[i].V != V) throw std::runtime_error("a batch has rows of one length");
    prepared.push_back(prepare(genomes[i], variant_.dtype));
    for (std::int64_t r = 0; r < genomes[i].rows; ++r)
      owners.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(r)});
  }
  const auto rows = static_cast<std::int64_t>(owners.size());
  if (rows > mem.rows || V < 1 || rows * V > mem.elements)
    throw std::runtime_error("the batch is larger than its memory");
  copy_to_device(mem.genomes.data(), prepared.data(), prepared.size() * sizeof(PreparedGenome));
  copy_to_device(mem.row_of.data(), owners.data(), owners.size() * sizeof(RowOf));

  const std::size_t bytes = static_cast<std::size_t>(rows * V) * size_of(variant_.dtype);
  auto* probs = mem.probs.as<std::byte>() + kGuard;
  check_cuda(cudaMemsetAsync(mem.probs.data(), kCanary, bytes + 2 * kGuard, mem.stream), "guard bands");
  check_cuda(cudaMemsetAsync(probs, 0xff, bytes, mem.stream), "poison");  // a NaN in every format
  launch_make_rows(variant_.dtype, mem.genomes.as<PreparedGenome>(), mem.row_of.as<RowOf>(), rows, V,
                   mem.logits.data(), mem.spans.as<Span>(), mem.stream);

  Problem p;
  p.op = Op::softmax;
  p.in = variant_.dtype;
  p.out = variant_.out();
  p.rows = rows;
  p.V = p.in_pitch = p.out_pitch = V;
  Buffers b{};
  b.logits = mem.logits.data();
  b.probs = probs;
  if (variant_.writes_normalizer) {
    b.m = mem.m.as<float>();
    b.d = mem.d.as<float>();
    check_cuda(cudaMemsetAsync(b.m, 0xff, static_cast<std::size_t>(rows) * sizeof(float), mem.stream),
               "poison");
    check_cuda(cudaMemsetAsync(b.d, 0xff, static_cast<std::size_t>(rows) * sizeof(float), mem.stream),
               "poison");
  }
  b.workspace = mem.workspace_of(variant_.workspace_bytes ? variant_.workspace_bytes(p) : 0);
  variant_.run(p, b, Stream{mem.stream, 0});
  check_cuda(cudaGetLastError(), "the candidate's launch");
  check_cuda(cudaStreamSynchronize(mem.stream), "the candidate");

  Outputs o;
  o.in = o.out = variant_.dtype;
  o.rows = rows;
  o.V = V;
  o.logits = mem.logits.data();
  o.probs = probs;
  o.in_pitch = o.out_pitch = V;
  const std::vector<DeviceRow> looked = look_on_device(variant_.claim, variant_.backend, o);

  std::vector<Span> spans(owners.size());
  std::vector<float> m(owners.size()), d(owners.size());
  const auto fetch = [](void* to, const void* from, std::size_t n) {
    check_cuda(cudaMemcpy(to, from, n, cudaMemcpyDeviceToHost), "copying from the device");
  };
  fetch(spans.data(), mem.spans.data(), spans.size() * sizeof(Span));
  if (b.m) {
    fetch(m.data(), b.m, m.size() * sizeof(float));
    fetch(d.data(), b.d, d.size() * sizeof(float));
  }
  for (const std::byte* at : {probs - kGuard, probs + bytes}) {
    std::vector<unsigned char> guard(kGuard);
    fetch(guard.data(), at, kGuard);
    if (std::any_of(guard.begin(), guard.end(), [](unsigned char c) { return c != kCanary; }))
      look_again.assign(genomes.size(), true);  // a row was written past its end: each one alone shows which
  }

  for (Evaluation& e : results) {
    e.share.fill(-1);
    e.share[static_cast<std::size_t>(Check::element)] = 0;
  }
  const double far = nearest_far(variant_.out());
  for (std::size_t r = 0; r < owners.size(); ++r) {
    const auto of = static_cast<std::size_t>(owners[r].genome);
    Evaluation& e = results[of];
    const DeviceRow& row = looked[r];
    e.far = e.far || static_cast<double>(spans[r].hi) - static_cast<double>(spans[r].lo) > far;
    double& share = e.share[static_cast<std::size_t>(Check::element)];
    // If the first look leaves a row open, its bound was too narrow. Then the share of the second look
    // counts.
    if (row.open == 0) share = std::max(share, row.utilisation);
    e.elements += V;
    if (look_again[of]) continue;
    if (row.open > 0) {
      const FastJudgement j =
          judge_row_of_device(variant_.claim, variant_.backend, o, static_cast<std::int64_t>(r), row.open);
      share = std::max(share, j.statistics.utilisation);
      if (j.failed > 0 || j.unjudged > 0) look_again[of] = true;
    } else if (b.m) {
      // This gives no verdict, only a reason for check_case.
      const double ratio = static_cast<double>(d[r]) * row.constants.inverse_s;
      if (m[r] != row.constants.m || !(ratio > 0.999 && ratio < 1.001)) look_again[of] = true;
    }
  }
  return results;
}

Tensor tensor_by_device(const Genome& raw, Dtype dtype) {
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  const Genome g = in_range(raw);
  Tensor t(dtype, g.rows, g.V);
  if (g.V == 0) return t;
  const PreparedGenome p = prepare(g, dtype);
  std::vector<RowOf> owners;
  for (std::int64_t r = 0; r < g.rows; ++r) owners.push_back({0, static_cast<std::int32_t>(r)});
  const DeviceArray genome(sizeof p), rows(owners.size() * sizeof(RowOf)), logits(t.bytes.size()),
      spans(owners.size() * sizeof(Span));
  copy_to_device(genome.data(), &p, sizeof p);
  copy_to_device(rows.data(), owners.data(), owners.size() * sizeof(RowOf));
  launch_make_rows(dtype, genome.as<PreparedGenome>(), rows.as<RowOf>(), g.rows, g.V, logits.data(),
                   spans.as<Span>(), nullptr);
  check_cuda(cudaMemcpy(t.bytes.data(), logits.data(), t.bytes.size(), cudaMemcpyDeviceToHost), "the rows");
  return t;
}

}  // namespace assay::fuzz
