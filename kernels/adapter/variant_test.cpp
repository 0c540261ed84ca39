// SPDX-License-Identifier: Apache-2.0
// What ASSAY_VARIANT reads from a launcher's type, and how an adapter turns calls into arguments.
#include "kernels/adapter/variant.h"

#include <gtest/gtest.h>

namespace {

using assay_adapter::Part;

template <class L>
std::string parts(const L& l) {
  std::string s = l.error;
  for (const Part p : l.parts)
    s += (s.empty() ? "" : " ") + std::string(assay_adapter::kParts[static_cast<int>(p)]);
  return s;
}

void usual(const float*, float*, int, int, void*) {}
void llm(float*, const float*, int, int) {}
void in_place(float*, int64_t, int64_t) {}
int topk(const float*, float*, int64_t*, int, int, int, void*) { return 0; }
void stats(const float*, float*, float*, float*, size_t, size_t) {}
void pitched(const float*, float*, long, long, long, long, void*) {}
void scratch(const float*, float*, void*, size_t, int, int) {}
void scaled(float*, const float*, float, int, int) {}

TEST(AssayVariant, ReadsRolesFromTypes) {
  using assay_adapter::describe;
  EXPECT_EQ(parts(describe(usual)), "in out rows V stream");
  EXPECT_EQ(parts(describe(llm)), "out in rows V");
  EXPECT_EQ(parts(describe(in_place)), "inout rows V");
  EXPECT_EQ(parts(describe(topk)), "in out indices rows V k stream");
  EXPECT_EQ(parts(describe(stats)), "in out m d rows V");
  EXPECT_EQ(parts(describe(pitched)), "in out rows V in_pitch out_pitch stream");
  EXPECT_EQ(parts(describe(scratch, assay::workspace([](int64_t rows, int64_t, int64_t) -> uint64_t {
                             return static_cast<uint64_t>(rows);
                           }))),
            "in out workspace workspace_bytes rows V");
  EXPECT_EQ(parts(describe(scaled)), "out in scale rows V");
  EXPECT_EQ(describe(topk).op(), ASSAY_SOFTMAX_TOPK);
  EXPECT_EQ(describe(topk, assay::op("topk")).op(), ASSAY_TOPK);
  EXPECT_EQ(describe(stats).declaration(), "dense=yes; normalizer=yes");
  EXPECT_EQ(describe(usual, assay::declare("exp=fast; max_V=64")).declaration(),
            "exp=fast; max_V=64; dense=yes");
}

void sampler(const float*, float*, int, int, float, void*) {}

TEST(AssayVariant, AFloatOfMinPAndTopPIsTheThreshold) {
  using assay_adapter::describe;
  for (const auto& [word, op] : {std::pair("min_p", ASSAY_MIN_P), std::pair("top_p", ASSAY_TOP_P)}) {
    EXPECT_EQ(parts(describe(sampler, assay::op(word))), "in out rows V threshold stream");
    EXPECT_EQ(describe(sampler, assay::op(word)).op(), op);
    EXPECT_EQ(parts(describe(sampler, assay::op(word), assay::order("in out V rows threshold stream"))),
              "in out V rows threshold stream");
    EXPECT_NE(describe(usual, assay::op(word)).error.find("no parameter is the threshold"),
              std::string::npos);
  }
  EXPECT_EQ(parts(describe(sampler)), "in out rows V scale stream");
  EXPECT_NE(describe(sampler, assay::order("in out rows V threshold stream")).error.find("assay::op"),
            std::string::npos);
  EXPECT_NE(describe(usual, assay::op("top-p")).error.find("'top-p'"), std::string::npos);
  const assay::Order wrong = assay::order("in out rows threshold V stream");
  EXPECT_EQ(describe(sampler, assay::op("top_p"), wrong).error, "the threshold is a float by value");
}

TEST(AssayVariant, TakesAnOrder) {
  using assay_adapter::describe;
  EXPECT_EQ(parts(describe(llm, assay::order("out, in V rows"))), "out in V rows");
  EXPECT_NE(describe(llm, assay::order("out in V")).error, "");
  EXPECT_NE(describe(llm, assay::order("out in V columns")).error.find("'columns'"), std::string::npos);
  EXPECT_NE(describe(scratch).error.find("workspace"), std::string::npos);
}

int64_t seen_rows, seen_V;
void narrow(const float* in, float* out, short rows, int V) {
  seen_rows = rows;
  seen_V = V;
  for (int i = 0; i < rows * V; ++i) out[i] = in[i] + 1;
}
void narrow_in_place(float* x, int rows, int V) {
  for (int i = 0; i < rows * V; ++i) x[i] += 1;
}
void wide_indices(const float* in, float* out, int64_t* indices, int rows, int, int k) {
  for (int i = 0; i < rows * k; ++i) {
    out[i] = in[i];
    indices[i] = i == 1 ? int64_t{1} << 40 : i;
  }
}
void with_stats(const float* in, float* out, float* m, float* d, int rows, int V) {
  for (int i = 0; i < rows * V; ++i) out[i] = in[i];
  for (int r = 0; r < rows; ++r) m[r] = in[r], d[r] = 7;
}
float seen_threshold;
void with_threshold(const float*, float*, int, int, float threshold) { seen_threshold = threshold; }
struct WithThreshold {
  static auto make() { return assay_adapter::describe(with_threshold, assay::op("top_p")); }
};
struct WithStats {
  static auto make() { return assay_adapter::describe(with_stats); }
};
struct Narrow {
  static auto make() { return assay_adapter::describe(narrow); }
};
struct NarrowInPlace {
  static auto make() { return assay_adapter::describe(narrow_in_place); }
};
struct WideIndices {
  static auto make() { return assay_adapter::describe(wide_indices); }
};

struct Call {
  float in[6] = {0, 1, 2, 3, 4, 5}, out[6] = {};
  int32_t indices[6] = {};
  int64_t shape[2], strides[2];
  assay_tensor x{}, y{}, i{};
  assay_call call{};
  alignas(256) unsigned char workspace[1024];
  Call(int64_t rows, int64_t V) : shape{rows, V}, strides{V, 1} {
    for (assay_tensor* t : {&x, &y, &i}) {
      t->dtype = {2, 32, 1};
      t->shape = shape;
      t->strides = strides;
    }
    x.data = in;
    y.data = out;
    i.data = indices;
    call.logits = &x;
    call.values = &y;
    call.scale = 1;
  }
};

TEST(AssayVariant, TheThresholdReachesTheLauncher) {
  Call c(2, 3);
  c.call.threshold = 0.9f;
  c.call.k = 900000;
  EXPECT_EQ(assay_adapter::Registration<WithThreshold>::run(&c.call), 0);
  EXPECT_EQ(seen_threshold, 0.9f);
}

TEST(AssayVariant, CutsNothingShort) {
  Call c(2, 3);
  EXPECT_EQ(assay_adapter::Registration<Narrow>::run(&c.call), 0);
  EXPECT_EQ(seen_rows, 2);
  EXPECT_EQ(seen_V, 3);
  EXPECT_EQ(c.out[5], 6);
  c.shape[0] = 40000;
  EXPECT_EQ(assay_adapter::Registration<Narrow>::run(&c.call), assay_adapter::kRefused);
  EXPECT_STREQ(assay_plugin_fault(), "rows = 40000 does not fit the entry's type");
  c.shape[0] = 2;
  c.call.scale = 2;
  EXPECT_EQ(assay_adapter::Registration<Narrow>::run(&c.call), assay_adapter::kRefused);
}

TEST(AssayVariant, CopiesForKernelsInPlace) {
  Call c(2, 3);
  EXPECT_EQ(assay_adapter::Registration<NarrowInPlace>::run(&c.call), 0);
  EXPECT_EQ(c.out[4], 5);
  EXPECT_EQ(c.in[4], 4) << "the logits are the caller's";
  c.y.data = c.in;
  EXPECT_EQ(assay_adapter::Registration<NarrowInPlace>::run(&c.call), 0);
  EXPECT_EQ(c.in[4], 5);
}

TEST(AssayVariant, MakesRoomForWhatNobodyAskedFor) {
  using R = assay_adapter::Registration<WithStats>;
  Call c(2, 3);
  c.call.workspace = c.workspace;
  // If only the results are asked for, m and d go to the workspace.
  c.call.workspace_bytes = R::workspace_bytes(&c.call);
  EXPECT_EQ(c.call.workspace_bytes, 512u);
  EXPECT_EQ(R::run(&c.call), 0) << assay_plugin_fault();
  EXPECT_EQ(c.out[5], 5);
  // If only (m, d) are asked for, the results go there.
  float m[2] = {}, d[2] = {};
  assay_tensor tm = c.x, td = c.x;
  tm.data = m, td.data = d;
  c.call.m = &tm, c.call.d = &td, c.call.values = nullptr;
  c.call.workspace_bytes = R::workspace_bytes(&c.call);
  EXPECT_EQ(c.call.workspace_bytes, 256u);
  EXPECT_EQ(R::run(&c.call), 0) << assay_plugin_fault();
  EXPECT_EQ(m[1], 1);
  EXPECT_EQ(d[1], 7);
  c.call.workspace_bytes = 255;
  EXPECT_EQ(R::run(&c.call), assay_adapter::kRefused);
}

TEST(AssayVariant, NarrowsIndices) {
  Call c(2, 3);
  c.i.dtype = {0, 32, 1};
  c.call.indices = &c.i;
  c.call.k = 3;
  c.call.workspace = c.workspace;
  c.call.workspace_bytes = assay_adapter::Registration<WideIndices>::workspace_bytes(&c.call);
  EXPECT_EQ(c.call.workspace_bytes, 256u);
  EXPECT_EQ(assay_adapter::Registration<WideIndices>::run(&c.call), 0) << assay_plugin_fault();
  EXPECT_EQ(c.indices[5], 5);
  EXPECT_EQ(c.indices[1], INT32_MIN) << "what is no 32-bit number is no index";
}

}  // namespace
