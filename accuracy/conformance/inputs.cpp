// SPDX-License-Identifier: Apache-2.0
#include "accuracy/conformance/inputs.hpp"

#include <algorithm>
#include <random>
#include <set>

namespace assay::conformance {
namespace {

/// The neighbours of a row length at which a dispatch may change.
void around(std::set<std::int64_t>& sizes, std::int64_t V, std::int64_t reach) {
  for (std::int64_t d = -reach; d <= reach; ++d)
    if (V + d >= 0) sizes.insert(V + d);
}

}  // namespace

Tensor make_rows(const std::string& family, Dtype dtype, std::int64_t V, std::int64_t rows,
                 std::uint64_t seed) {
  const Family& known = family_named(family);
  // Few families have an empty row, and all empty rows are alike.
  return V == 0 ? Tensor(dtype, rows, 0) : make_input(known, dtype, V, rows, seed);
}

Case make_case(const std::string& family, const Variant& variant, std::int64_t V, std::int64_t rows,
               std::uint64_t seed) {
  return Case(family, make_rows(family, variant.dtype, V, rows, seed));
}

std::span<const Vocabulary> vocabularies() {
  // config.json (vocab_size) and tokenizer files on the models' pages.
  static constexpr Vocabulary all[] = {
      {21128, "BERT, Chinese"},
      {28996, "BERT, cased"},
      {30522, "BERT, uncased"},
      {32000, "Llama 2, Mistral 7B"},
      {32064, "Phi-3"},
      {32128, "T5, padded"},
      {32768, "Mistral 7B v0.3"},
      {49152, "StarCoder, SmolLM"},
      {49408, "CLIP"},
      {50257, "GPT-2"},
      {50265, "RoBERTa, BART"},
      {50304, "GPT-2 padded, Pythia, OLMo"},
      {50432, "GPT-NeoX-20B, padded"},
      {51200, "Phi-2"},
      {51865, "Whisper"},
      {64000, "Yi"},
      {65024, "Falcon, ChatGLM"},
      {92544, "InternLM 2"},
      {100277, "cl100k_base"},
      {100352, "cl100k_base padded, OLMo 2, Phi-4"},
      {102400, "DeepSeek V2"},
      {128000, "Llama 3 without special tokens"},
      {128256, "Llama 3"},
      {129280, "DeepSeek V3"},
      {131072, "Mistral NeMo, Falcon 3"},
      {151552, "GLM-4"},
      {151643, "Qwen 2 without special tokens"},
      {151665, "Qwen 2.5 without padding"},
      {151936, "Qwen 2, Qwen 3"},
      {152064, "Qwen 2.5 from 7B"},
      {163840, "Kimi K2"},
      {200064, "Phi-4-mini"},
      {201088, "gpt-oss"},
      {202048, "Llama 4"},
      {248320, "Qwen 3.5"},
      {250112, "mT5"},
      {250880, "BLOOM"},
      {256000, "Gemma 2, Command R"},
      {262144, "Gemma 3, text"},
      {262208, "Gemma 3"},
  };
  return all;
}

bool is_common(const Vocabulary& v) { return v.V == 32000 || v.V == 50257 || v.V == 128256 || v.V == 151936; }

std::vector<std::int64_t> shape_sizes(Extent extent) {
  std::set<std::int64_t> sizes;
  if (extent == Extent::quick) {
    for (std::int64_t V = 0; V <= 130; ++V) sizes.insert(V);
    for (std::int64_t step : {32, 96, 160, 224})
      for (std::int64_t V = step; V <= 1100; V += 128) around(sizes, V, 1);
    for (std::int64_t V = 256; V <= 8192; V *= 2) around(sizes, V, 2);
    for (std::int64_t V : {1027, 1536, 3001, 4099, 6240, 12289, 32771, 50257, 151936}) sizes.insert(V);
    return {sizes.begin(), sizes.end()};
  }
  for (std::int64_t V = 0; V <= 4096; ++V) sizes.insert(V);
  const int last = extent == Extent::full ? 20 : 17;
  for (int k = 12; k <= last; ++k) around(sizes, std::int64_t{1} << k, 2);
  for (std::int64_t vector : {1, 2, 4, 8})
    for (std::int64_t threads : {32, 64, 128, 256, 512, 1024}) {
      around(sizes, vector * threads, 1);
      if (extent == Extent::full)
        for (std::int64_t times : {3, 5, 7}) around(sizes, times * vector * threads, 1);
    }
  for (std::int64_t odd : {3, 5, 7})
    for (std::int64_t V = odd * 32; V <= 1 << 16; V *= 2) around(sizes, V, 1);
  for (std::int64_t prime : {4099, 5003, 7919, 10007, 16411, 20011, 32771, 65537, 104729})
    sizes.insert(prime);
  around(sizes, 12288, 1);
  around(sizes, 14080, 1);
  for (std::int64_t V : {6240, 12287, 40001}) sizes.insert(V);
  for (const Vocabulary& v : vocabularies()) sizes.insert(v.V);
  // More than a block of 1024 threads with 256 elements each.
  for (std::int64_t V : {262144, 300007, 524296}) sizes.insert(V);
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> sizes_between(Extent extent, bool on_gpu) {
  std::set<std::int64_t> sizes;
  if (extent == Extent::quick) {
    // 7 and 61 share no divisor with a power of two, so every remainder occurs once per cycle.
    for (std::int64_t V = 131; V <= 4096; V += on_gpu || V < 520 ? 1 : V < 1100 ? 7 : 61) sizes.insert(V);
    for (const std::int64_t V : shape_sizes(extent)) sizes.erase(V);
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<std::int64_t> sizes_of_every_remainder() {
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < 256; ++i) sizes.push_back(33000 + 257 * i);
  return sizes;
}

std::vector<std::int64_t> drawn_sizes(Extent extent, std::uint64_t seed) {
  const bool quick = extent == Extent::quick;
  std::vector<std::int64_t> sizes;
  for (std::int64_t octave = 128; octave < (quick ? 1 << 14 : 1 << 17); octave *= 2) {
    const std::int64_t width = quick ? octave : octave / 2;
    for (std::int64_t from = octave; from < 2 * octave; from += width) {
      std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(from));
      std::int64_t V = from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(width));
      if (sizes.size() % 2 == 1)
        V -= V % 8;
      else if (V % 4 == 0)
        ++V;
      sizes.push_back(V);
    }
  }
  return sizes;
}

}  // namespace assay::conformance
