// SPDX-License-Identifier: Apache-2.0
// Any text is safe to read, and the adapter's text follows from the roles. What is read from declarations is
// in the .entries files.
#include "kernels/adapter/entry/signature.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "kernels/adapter/entry/adapter_source.hpp"
#include "kernels/adapter/entry/call_source.hpp"

namespace assay {
namespace {

TEST(EntrySignature, TheCallIsWrittenFromTheRoles) {
  const EntrySignature s =
      parse_entry("bool f(const float* in, float* out, dim_t rows, int V, int n, float* tmp, float* more)",
                  {{"n", "rows*V"}, {"tmp", "workspace(4*V)"}, {"more", "workspace(rows)"}});
  const EntrySignature causal =
      parse_entry("void f(const float* x, float* y, int N, int T)", {}, {}, {}, true);
  const std::string text =
      adapter_source(AdapterFile(), {s}) + call_source({s}, "_x") + adapter_source(AdapterFile(), {causal});
  for (const char* part :
       {"return ::assay_adapter::status_of_success(returned != 0);", "{assay_own_integer_x{n[2], 2}}",
        "assay_number_x<int>(n[4], 4)",
        "::assay_adapter::value<int64_t, 5>(assay_arguments)*::assay_adapter::value<int64_t, 6>"
        "(assay_arguments)",
        "return static_cast<uint64_t>(((4*V) + 255) / 256 * 256 + (rows));", "n.one_row = false",
        "assay_arguments)/::assay_adapter::divisor("})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(EntrySignature, OperandsAreReadBack) { EXPECT_EQ(parse_operands("scale:bf16")->scale, Dtype::bf16); }

TEST(EntrySignature, SurvivesAnyText) {
  // Pieces of declarations in any order. Each text is either read or refused, and quickly.
  const std::vector<std::string> pieces = {
      "void", "float",   "*",   "const", "int", "(",   ")", ",",    "<",        ">",
      "::",   "in",      "out", "rows",  "V",   "T",   "=", "[",    "]",        "&",
      "\n",   "N=rows",  "\"",  "std",   "k",   "256", " ", "long", "unsigned", "cudaStream_t s",
      "\xff", "softmax", "{",   "}",     "[[",  "]]"};
  std::mt19937 random(1);
  const auto start = std::chrono::steady_clock::now();
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = i % 2 ? "void f(const float* in, float* out, int rows, int V" : "";
    for (unsigned n = random() % 12; n > 0; --n)
      text += pieces[random() % pieces.size()] + (random() % 2 ? " " : "");
    if (i % 4 == 1) text += ")";
    read += fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }
  EXPECT_GT(read, 100);
  for (const char* piece : {"<", "(", "const ", "*", "::", "[", "x,"}) {
    std::string text = "void f(";
    while (text.size() < 1 << 20) text += piece;
    EXPECT_FALSE(fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
    text.resize(4000);
    EXPECT_FALSE(fuzz_entry_signature(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace assay
