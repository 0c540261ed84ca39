// SPDX-License-Identifier: Apache-2.0
// Times onepass_topk and onepass_topk_fast at the shapes of their goals, and says which share of a read they
// reach. Columns that they find are compared with a sort on the host for a few rows; a wrong one ends the
// program with 1.
//   us            the kernel, as it divides the launch
//   rows_us       a block a row; rows_no_topk_us: (m, d) alone
//   threads_*_us  blocks of so many threads that take rows in turn, or a part of a row each
//   sharing_*_us  a cluster a row, tile by tile: threads of a block, blocks
//   holding_*_us  a cluster a row, in registers: accesses of a thread, threads of a block, blocks
//   no_exp_us     every exp is a multiplication
//   no_topk_us    (m, d) alone: nothing is selected
// `read_us`: the fastest read. Cold caches: buffers in turn, more than twice the L2. Prints a JSON line a
// shape. reports/publish/limits/measure.sh compiles and runs it.
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <type_traits>

#include "kernels/building_blocks/onepass_topk/ladder.cuh"
#include "reports/publish/limits/timing.cuh"

namespace {

using namespace assay;
using namespace assay::cuda;
using namespace assay::limits;
using onepass::kFewThreads;
using onepass::kLargeRoom;
using onepass::kSelectThreads;
using onepass::kSmallRoom;
using onepass::Selected;

struct NoExp {
  __device__ __forceinline__ static float of(float t) { return t * 0x1p-10f; }
};
struct WithoutExp : onepass::Fast {
  using Exp = NoExp;
  using Fast::Fast;
};

__device__ unsigned scrambled(unsigned long long i) {
  i = (i + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  i = (i ^ i >> 27) * 0x94d049bb133111ebull;
  return static_cast<unsigned>(i >> 32);
}
/// Normal logits if `values` is 0; otherwise that many different ones, each as often.
template <class T>
__global__ void fill(T* x, long long n, int values) {
  for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
    const float u = (static_cast<float>(scrambled(2 * i)) + 0.5f) * 0x1p-32f,
                v = static_cast<float>(scrambled(2 * i + 1)) * 0x1p-32f;
    const float normal = sqrtf(-2 * logf(fmaxf(u, 1e-9f))) * cospif(2 * v);
    x[i] =
        from_float<T>(values ? static_cast<float>(scrambled(2 * i) % static_cast<unsigned>(values)) : normal);
  }
}

struct Shape {
  std::int64_t rows, V;
  int k;
  int values = 0;  ///< how many different logits there are; 0: normal logits
};

bool wrong = false;

/// Compares the columns of the first and the last rows with a sort.
template <class T>
void check(const char* what, const Shape& s, const T* logits, const int* indices) {
  std::vector<T> x(static_cast<std::size_t>(s.V));
  std::vector<int> got(static_cast<std::size_t>(s.k)), order(static_cast<std::size_t>(s.V));
  for (const std::int64_t row : {std::int64_t{0}, s.rows / 2, s.rows - 1}) {
    cudaMemcpy(x.data(), logits + row * s.V, x.size() * sizeof(T), cudaMemcpyDeviceToHost);
    must(cudaMemcpy(got.data(), indices + row * s.k, got.size() * sizeof(int), cudaMemcpyDeviceToHost),
         "a copy");
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + s.k, order.end(), [&](int a, int b) {
      const float p = to_float(x[static_cast<std::size_t>(a)]), q = to_float(x[static_cast<std::size_t>(b)]);
      return p > q || (p == q && a < b);
    });
    if (std::equal(got.begin(), got.end(), order.begin())) continue;
    std::fprintf(stderr, "topk: wrong columns: %s, %lld x %lld, k = %d, row %lld\n", what,
                 static_cast<long long>(s.rows), static_cast<long long>(s.V), s.k,
                 static_cast<long long>(row));
    wrong = true;
  }
}

void print(const char* name, double us) { std::printf(",\"%s\":%.3f", name, us); }

template <class T>
void measure(const Pool& pool, const char* dtype, const Shape& s) {
  using onepass::Accurate, onepass::Fast;
  const std::size_t one = (static_cast<std::size_t>(s.rows * s.V) * sizeof(T) + 511) / 512 * 512;
  constexpr std::size_t kOutputs = std::size_t{64} << 20;
  if (one + kOutputs > pool.bytes) return;
  const auto sets =
      static_cast<int>(std::clamp<std::size_t>(2 * pool.l2 / one + 2, 1, (pool.bytes - kOutputs) / one));
  const auto from = [&](int i) {
    return reinterpret_cast<T*>(pool.base + kOutputs + one * static_cast<std::size_t>(i % sets));
  };
  for (int i = 0; i < sets; ++i) fill<<<1024, 256, 0, stream>>>(from(i), s.rows * s.V, s.values);
  Problem p;
  p.op = Op::softmax_topk;
  p.in = p.out = DtypeOf<T>::value;
  p.rows = s.rows;
  p.V = p.in_pitch = s.V;
  p.k = s.k;
  p.out_pitch = s.k;
  Stream st{};
  st.handle = stream;
  const std::size_t outputs = static_cast<std::size_t>(s.rows * s.k) * 4 + 512;
  Buffers b{};
  b.probs = pool.base;
  b.indices = pool.base + outputs;
  b.workspace = pool.base + 2 * outputs;
  const auto* const indices = static_cast<const int*>(b.indices);
  const double guess = static_cast<double>(one) / 3e6 + 4;
  const auto time = [&](auto run) {
    return median_us(
        [&](int i) {
          b.logits = from(i);
          run(Call<T>(p, b, st));
        },
        guess);
  };
  const auto judged = [&](const char* what, auto run) {
    cudaMemsetAsync(b.indices, 0xff, outputs, stream);
    b.logits = from(1);
    run(Call<T>(p, b, st));
    must(cudaStreamSynchronize(stream), what);
    check(what, s, from(1), indices);
    return time(run);
  };
  auto* const sink = reinterpret_cast<unsigned*>(pool.base + kOutputs - 512);
  const double read = median_us([&](int i) { rig::enqueue_read(stream, from(i), one, sink); }, guess);
  const auto whole = [](auto form) {  // a type: forms are made on the device
    return [](const Call<T>& c) { onepass::TopkLadder<typename decltype(form)::type>::run(c); };
  };
  const auto alone = [&](const Call<T>& c, auto threads, auto room, auto selected) {
    onepass::launch_topk<Fast, T, room(), threads()>(c, c.problem, selected, nullptr, nullptr,
                                                     c.buffers.workspace);
  };
  std::printf("{\"kind\":\"topk\",\"dtype\":\"%s\",\"rows\":%lld,\"V\":%lld,\"k\":%d,\"values\":%d", dtype,
              static_cast<long long>(s.rows), static_cast<long long>(s.V), s.k, s.values);
  print("read_us", read);
  const double fast = judged("onepass_topk_fast", whole(std::type_identity<Fast>{}));
  print("fast_us", fast);
  print("fast_share", read / fast);
  print("gb_per_s", static_cast<double>(one) / fast / 1e3);
  const double accurate = judged("onepass_topk", whole(std::type_identity<Accurate>{}));
  print("accurate_us", accurate);
  print("accurate_share", read / accurate);
  print("no_exp_us", time(whole(std::type_identity<WithoutExp>{})));
  using Small = std::integral_constant<int, kSmallRoom>;
  using Large = std::integral_constant<int, kLargeRoom>;
  const auto selected = Selected<T>{{static_cast<T*>(b.probs), s.rows, s.k}, b.indices, false, s.k};
  const auto threads = [&](const char* name, auto n, auto room) {
    print(name, judged(name, [&](const Call<T>& c) { alone(c, n, room, selected); }));
  };
  const auto rows = [&](auto most) {
    constexpr int kMost = decltype(most)::value;
    const auto run = [](const Selected<T>& to) {
      return [to](const Call<T>& c) { onepass::launch_rows<Fast, kMost>(c, to); };
    };
    print("rows_us", judged("rows", run(selected)));
    print("rows_no_topk_us", time(run(Selected<T>{})));
  };
  if (s.rows > 10) {
    if (s.k <= onepass::kFew)
      rows(std::integral_constant<int, onepass::kFew>{});
    else
      rows(std::integral_constant<int, onepass::kStreamK>{});
  }
  if (s.k <= onepass::kFew) {
    threads("threads_64_us", std::integral_constant<int, 64>{}, Small{});
    threads("threads_128_us", std::integral_constant<int, 128>{}, Small{});
  }
  threads("threads_256_us", std::integral_constant<int, 256>{}, Large{});
  print("no_topk_us", time([&](const Call<T>& c) {
          alone(c, std::integral_constant<int, kFewThreads>{}, Small{}, Selected<T>{});
        }));
  if (s.rows <= 10 && s.k <= onepass::kFew) {
    const auto sharing = [&](const char* name, auto n, int blocks, const Selected<T>& to, bool judge) {
      const auto run = [&](const Call<T>& c) {
        onepass::launch_sharing<Fast, T, kSmallRoom, n()>(c, to, blocks);
      };
      print(name, judge ? judged(name, run) : time(run));
    };
    using N256 = std::integral_constant<int, 256>;
    using N512 = std::integral_constant<int, 512>;
    sharing("sharing_256_by_8_us", N256{}, 8, selected, true);
    sharing("sharing_512_by_8_us", N512{}, 8, selected, true);
    sharing("sharing_256_by_16_us", N256{}, 16, selected, true);
    sharing("sharing_512_by_16_us", N512{}, 16, selected, true);
    sharing("sharing_no_topk_us", N512{}, 16, Selected<T>{}, false);
  }
  if (s.rows <= 66 && s.k <= onepass::kFew) {
    const std::int64_t accesses = s.V / kPerAccess<T>;
    const auto holding = [&](auto each, auto n, int blocks, const Selected<T>& to, bool judge) {
      const std::int64_t slice = onepass::slice_of(accesses, blocks);
      if (slice > n() * each() || slice * 8 < n() * each()) return;
      const auto run = [&](const Call<T>& c) {
        onepass::launch_holding<Fast, T, each(), n()>(c, to, blocks);
      };
      const std::string name = "holding_" + std::to_string(each()) + "_of_" + std::to_string(n()) + "_by_" +
                               std::to_string(blocks) + (judge ? "_us" : "_no_topk_us");
      print(name.c_str(), judge ? judged(name.c_str(), run) : time(run));
    };
    using N256 = std::integral_constant<int, 256>;
    using N512 = std::integral_constant<int, 512>;
    using Four = std::integral_constant<int, 4>;
    using Eight = std::integral_constant<int, 8>;
    for (const int blocks : {2, 4, 8, 16}) {
      holding(Four{}, N256{}, blocks, selected, true);
      holding(Eight{}, N256{}, blocks, selected, true);
      holding(Four{}, N512{}, blocks, selected, true);
      holding(Eight{}, N512{}, blocks, selected, true);
      holding(Eight{}, N256{}, blocks, Selected<T>{}, false);
    }
  }
  std::printf("}\n");
  std::fflush(stdout);
}

constexpr Shape kShapes[] = {
    {4000, 8192, 5},      {4000, 8192, 30},     {4000, 16384, 5},      {4000, 16384, 30},
    {4000, 32768, 5},     {4000, 32768, 30},    {4000, 131072, 5},     {4000, 131072, 30},
    {4000, 262144, 30},   {4000, 32768, 64},    {4000, 32768, 256},    {4000, 131072, 256},
    {4000, 262144, 64},   {4000, 262144, 256},  {10, 128256, 5},       {10, 128256, 30},
    {10, 262144, 30},     {10, 1048576, 30},    {1, 128256, 30},       {10, 25000, 30},
    {32, 8192, 30},       {32, 32768, 30},      {32, 131072, 30},      {10, 8192, 30},
    {4000, 32000, 30, 1}, {4000, 32000, 30, 8}, {4000, 32000, 30, 100}};

/// One shape in this process.
int one_shape(std::size_t at) {
  const Pool pool = pool_of_gpu("topk_head");
  const Shape& s = kShapes[at / 2];
  at % 2 ? measure<f16>(pool, "f16", s) : measure<f32>(pool, "f32", s);
  return wrong ? 1 : 0;
}

}  // namespace

/// Every shape in a process of its own, so that one that fails or hangs hides no other.
int main(int count, char** words) {
  if (count == 2) return one_shape(std::strtoul(words[1], nullptr, 10) % (2 * std::size(kShapes)));
  int status = 0;
  for (std::size_t at = 0; at < 2 * std::size(kShapes); ++at) {
    const std::string line = "timeout 20 '" + std::string(words[0]) + "' " + std::to_string(at);
    if (std::system(line.c_str()) == 0) continue;
    std::fprintf(stderr, "topk: failed, or no answer in 20 s: %s\n", line.c_str());
    status = 1;
  }
  return status;
}
