// SPDX-License-Identifier: Apache-2.0
#include "accuracy/fast_judge/oracle_speed.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>

#include "accuracy/fast_judge/fast_judge.hpp"
#include "kernels/candidate.hpp"
#include "kernels/device.hpp"
#include "reference/parallel.hpp"

#if defined(ASSAY_WITH_CUDA)
#include "accuracy/device_array.hpp"
#endif

namespace assay {
namespace {

Problem softmax_problem(const Variant& v, std::int64_t rows, std::int64_t V) {
  Problem p;
  p.op = Op::softmax;
  p.in = p.out = v.dtype;
  p.rows = rows;
  p.V = p.in_pitch = p.out_pitch = V;
  return p;
}

/// The median of at least three runs, and of more if they are short.
void measure(OracleSpeed& s, const std::function<double()>& seconds_of_one) {
  std::vector<double> times;
  double all = 0;
  while (times.size() < 3 || (all < 1 && times.size() < 25)) {
    times.push_back(seconds_of_one());
    all += times.back();
  }
  std::sort(times.begin(), times.end());
  s.seconds = times[times.size() / 2];
  s.runs = static_cast<int>(times.size());
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

OracleSpeed blank(const char* tier, std::string where, const Variant& v, const Outputs& o) {
  OracleSpeed s;
  s.tier = tier;
  s.where = std::move(where);
  s.key = v.key();
  s.rows = o.rows;
  s.V = o.V;
  return s;
}

void measure_host(std::vector<OracleSpeed>& out, const Variant& v, const Outputs& o) {
  // MPFR gets only a few rows: it takes some hundred nanoseconds per element.
  Outputs few = o;
  few.rows = std::min<std::int64_t>(o.rows, 4);
  OracleSpeed mpfr = blank("mpfr", "one core", v, few);
  const Terms terms = terms_of(v.claim, v.backend, v.dtype, o.V);
  mpfr.runs = 1;
  mpfr.seconds = seconds_of([&] {
    for (std::int64_t r = 0; r < few.rows; ++r) {
      const auto at = [&](const void* base, std::int64_t pitch) {
        return static_cast<const std::byte*>(base) + static_cast<std::size_t>(r * pitch) * size_of(v.dtype);
      };
      mpfr.judgement.add(
          judge_row_by_mpfr(v.claim, terms, o, r, at(o.logits, o.in_pitch), at(o.probs, o.out_pitch)));
    }
  });
  out.push_back(std::move(mpfr));
  const int cores = thread_count(0);
  for (const int threads : {1, cores}) {
    OracleSpeed fast = blank("fast", threads == 1 ? "one core" : std::to_string(threads) + " cores", v, o);
    measure(fast,
            [&] { return seconds_of([&] { fast.judgement = judge_fast(v.claim, v.backend, o, threads); }); });
    out.push_back(std::move(fast));
    if (cores == 1) break;
  }
}

#if defined(ASSAY_WITH_CUDA)

void measure_device(std::vector<OracleSpeed>& out, const Variant& v, const Tensor& logits, int copies) {
  check_cuda(cudaSetDevice(selected_device()), "selecting the device");
  const std::size_t bytes = logits.bytes.size();
  const std::int64_t rows = logits.rows * copies;
  const DeviceArray x(bytes * static_cast<std::size_t>(copies)), g(bytes * static_cast<std::size_t>(copies));
  const DeviceArray m(static_cast<std::size_t>(rows) * sizeof(float)),
      d(static_cast<std::size_t>(rows) * sizeof(float));
  for (int i = 0; i < copies; ++i)
    check_cuda(cudaMemcpy(static_cast<std::byte*>(x.data()) + bytes * static_cast<std::size_t>(i),
                          logits.bytes.data(), bytes, cudaMemcpyHostToDevice),
               "copying to the device");
  const Problem p = softmax_problem(v, rows, logits.V);
  Buffers b;
  b.logits = x.data();
  b.probs = g.data();
  b.m = static_cast<float*>(m.data());
  b.d = static_cast<float*>(d.data());
  v.run(p, b, Stream{});
  check_cuda(cudaDeviceSynchronize(), v.key().c_str());
  const Outputs o{v.dtype, v.dtype, rows, logits.V, x.data(), logits.V, g.data(), logits.V};

  // The host tiers judge the first copy of the same outputs.
  std::vector<std::byte> probs(bytes);
  check_cuda(cudaMemcpy(probs.data(), g.data(), bytes, cudaMemcpyDeviceToHost), "copying from the device");
  Outputs on_host = o;
  on_host.rows = logits.rows;
  on_host.logits = logits.bytes.data();
  on_host.probs = probs.data();
  measure_host(out, v, on_host);

  OracleSpeed fast = blank("fast", "GPU", v, o);
  judge_fast_on_device(v.claim, v.backend, o);  // warm
  measure(fast, [&] {
    double s = 0;
    fast.judgement = judge_fast_on_device(v.claim, v.backend, o, &s);
    return s;
  });
  out.push_back(std::move(fast));
}

#endif

}  // namespace

std::vector<OracleSpeed> measure_oracle(const Variant& v, const Tensor& logits, [[maybe_unused]] int copies) {
  std::vector<OracleSpeed> out;
  if (v.backend == Backend::cuda) {
#if defined(ASSAY_WITH_CUDA)
    measure_device(out, v, logits, copies);
#endif
    return out;
  }
  Images images;
  const auto bytes = logits.bytes.size();
  images.logits = Image(bytes, 0, 256);
  images.probs = Image(bytes, 0, 256);
  images.m = Image(static_cast<std::size_t>(logits.rows) * sizeof(float), 0, 256);
  images.d = Image(static_cast<std::size_t>(logits.rows) * sizeof(float), 0, 256);
  std::copy(logits.bytes.begin(), logits.bytes.end(), images.logits.payload());
  const LaunchOutcome outcome = launch(v, softmax_problem(v, logits.rows, logits.V), images, {});
  if (!outcome.ok()) throw std::runtime_error(v.key() + ": " + outcome.fault);
  measure_host(out, v,
               {v.dtype, v.dtype, logits.rows, logits.V, images.logits.payload(), logits.V,
                images.probs.payload(), logits.V});
  return out;
}

}  // namespace assay
