// SPDX-License-Identifier: Apache-2.0
// For tests of compiled files: finds fixtures, loads the plugin, and compares its outputs with a softmax in
// double.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/adapter/compile/one_file.hpp"
#include "kernels/plugin.h"
#include "reference/error.hpp"
#include "reference/formats.hpp"

namespace assay::one_file_test {

namespace fs = std::filesystem;

/// One folder for all tests of a run, so that the executor is compiled only once.
inline std::string build_folder() {
  return (fs::temp_directory_path() / ("assay-one-file-" + std::to_string(getuid()))).string();
}

inline OneFile fixture(const char* name, const char* entry) {
  OneFile f;
  f.source = std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/" + name;
  f.entry = entry;
  f.host = true;
  f.build_dir = build_folder();
  return f;
}

inline std::string refusal(const OneFile& f) {
  try {
    compile_one_file(f);
  } catch (const InputError& e) {
    return e.what();
  }
  return "accepted";
}

struct Loaded {
  void* handle;
  const assay_plugin* plugin = nullptr;
  explicit Loaded(const std::string& path) : handle(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle) ADD_FAILURE() << dlerror();
    if (handle) plugin = reinterpret_cast<assay_plugin_entry_function>(dlsym(handle, ASSAY_PLUGIN_SYMBOL))();
  }
  const char* fault() const {
    return reinterpret_cast<const char* (*)()>(dlsym(handle, "assay_plugin_fault"))();
  }
};

/// The variant of a file that has exactly one.
inline const assay_variant& only_variant(const Loaded& l) {
  if (!l.plugin || l.plugin->variant_count != 1) throw std::runtime_error("the file has not one variant");
  return l.plugin->variants[0];
}

/// A call of `v` on the host, on `rows` rows of length V. `pitch`: elements from one row to the next.
class Call {
 public:
  Call(const assay_variant& v, std::int64_t rows, std::int64_t V, std::int64_t pitch, void* logits,
       void* values)
      : shape_{rows, V},
        strides_{pitch, 1},
        logits_(tensor(logits, *parse_dtype(v.in_dtype))),
        values_(tensor(values, *parse_dtype(v.out_dtype ? v.out_dtype : v.in_dtype))) {
    call.struct_size = sizeof call;
    call.op = v.op;
    call.logits = &logits_;
    call.values = &values_;
    call.scale = 1;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  assay_call call{};

 private:
  assay_tensor tensor(void* data, Dtype t) {
    assay_tensor a{};
    a.data = data;
    a.device = {1, 0};
    a.ndim = 2;
    a.dtype = {static_cast<std::uint8_t>(t == Dtype::bf16 ? 4 : 2), static_cast<std::uint8_t>(size_of(t) * 8),
               1};
    a.shape = shape_;
    a.strides = strides_;
    return a;
  }

  std::int64_t shape_[2], strides_[2];
  assay_tensor logits_, values_;
};

inline std::vector<unsigned char> stored(const std::vector<double>& values, Dtype t) {
  std::vector<unsigned char> bytes(values.size() * size_of(t));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint64_t b = encode(t, values[i]);
    std::memcpy(&bytes[i * size_of(t)], &b, size_of(t));
  }
  return bytes;
}

/// Runs a variant on `rows` rows of length V. Returns the largest difference from softmax in double.
inline double worst_difference(const Loaded& l, const assay_variant& v, std::int64_t rows, std::int64_t V,
                               std::int64_t pitch) {
  const Dtype in = *parse_dtype(v.in_dtype), out = *parse_dtype(v.out_dtype ? v.out_dtype : v.in_dtype);
  std::vector<double> logits(static_cast<std::size_t>(rows * pitch));
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = std::sin(static_cast<double>(i)) * 4;
  std::vector<unsigned char> input = stored(logits, in),
                             output(static_cast<std::size_t>(rows * pitch) * size_of(out), 0xff);
  Call made(v, rows, V, pitch, input.data(), output.data());
  assay_call& call = made.call;
  std::vector<unsigned char> workspace(v.workspace_bytes(&call));
  call.workspace = workspace.data();
  call.workspace_bytes = workspace.size();
  if (const int status = v.run(&call)) {
    ADD_FAILURE() << v.name << ": " << status << ": " << l.fault();
    return 1;
  }
  double worst = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    std::vector<double> e(static_cast<std::size_t>(V));
    double sum = 0;
    for (std::int64_t i = 0; i < V; ++i)
      sum += e[static_cast<std::size_t>(i)] =
          std::exp(decode(in, encode(in, logits[static_cast<std::size_t>(r * pitch + i)])));
    for (std::int64_t i = 0; i < V; ++i) {
      std::uint64_t b = 0;
      std::memcpy(&b, &output[static_cast<std::size_t>(r * pitch + i) * size_of(out)], size_of(out));
      const double difference = std::fabs(decode(out, b) - e[static_cast<std::size_t>(i)] / sum);
      if (!(difference <= worst)) worst = difference;
    }
  }
  return worst;
}

}  // namespace assay::one_file_test
