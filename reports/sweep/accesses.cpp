// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep/accesses.hpp"

#include <fnmatch.h>

#include <algorithm>

#include "kernels/counted/counted.hpp"
#include "reference/error.hpp"
#include "reference/inputs/inputs.hpp"

namespace assay {
Problem problem_of_point(const Variant& v, const AccessPoint& a) {
  Problem p;
  p.op = v.op;
  p.in = v.dtype;
  p.out = v.out();
  p.rows = a.rows;
  p.V = p.in_pitch = a.V;
  p.take(a.pick);
  p.out_pitch = selects(p.op) ? p.k : a.V;
  return p;
}

std::vector<AccessPoint> access_points(Backend backend, const std::vector<std::string>& keys,
                                       const std::vector<std::int64_t>& V, std::int64_t rows) {
  std::vector<AccessPoint> out;
  std::vector<bool> used(keys.size(), false);
  for (const Variant& v : registry()) {
    bool wanted = keys.empty();
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (fnmatch(keys[i].c_str(), v.key().c_str(), 0) == 0) wanted = used[i] = true;
    if (!wanted || v.backend != backend) continue;
    // Launches under a profiler have no gradients.
    if (v.op == Op::softmax_backward && backend == Backend::cuda) continue;
    // Loads and stores are counted per element, and a causal row leaves out half of its elements.
    if (v.claim.causal != Causal::no) continue;
    for (const std::int64_t length : V)
      if ((v.limits.max_V == 0 || length <= v.limits.max_V) && length % v.limits.V_multiple == 0)
        out.push_back({v.key(), rows, length, pick_of_few(v.op)});
  }
  for (std::size_t i = 0; i < keys.size(); ++i)
    if (!used[i]) throw InputError("--key " + keys[i] + ": no such key; assay list names them all");
  return out;
}

std::vector<AccessRecord> count_on_host(const std::vector<AccessPoint>& points) {
  std::vector<AccessRecord> out;
  for (const AccessPoint& a : points) {
    const Variant* v = find_counted(a.key);
    if (!v) continue;
    const Tensor logits = make_input(*find_family("normal_1"), v->dtype, a.V, a.rows, 1);
    const AccessCounts counts = count_accesses(*v, problem_of_point(*v, a), logits.bytes);
    AccessRecord r;
    r.key = a.key;
    r.claimed_loads = v->claim.loads(a.V);
    r.claimed_stores = v->claim.stores(a.V);
    r.source = "host counters";
    r.rows = a.rows;
    r.V = a.V;
    r.k = a.pick.k, r.threshold = a.pick.threshold;
    r.loads = counts.loads;
    r.stores = counts.stores;
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace assay
