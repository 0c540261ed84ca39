// SPDX-License-Identifier: Apache-2.0
// What a build is linked with whose comparisons and branches are watched
// (-fsanitize-coverage=trace-pc,trace-cmp). It keeps the constants that the file compares something with, and
// the blocks of code that have run. A kernel beside the file's own, "assay_branches", writes them into its
// outputs: a worker needs no other way to tell them.
//
// Words of the outputs, 32 bits each: 0x62726e63; blocks that have run; blocks that there are; number of
// constants; then three words for each: its size in bytes (16 more for a floating-point number), and its low
// and high half.
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

#include "kernels/plugin.h"

extern "C" const assay_plugin* assay_plugin_entry_of_the_file(void);
extern "C" __attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc(void);

namespace {

constexpr std::uint32_t kMagic = 0x62726e63;
constexpr std::size_t kPlaces = 1 << 14, kSites = 1 << 12, kMostConstants = 512;

/// Open addressing; 0 is a free place. A full table forgets what is new.
std::uintptr_t blocks[kPlaces];
std::uint32_t blocks_run = 0;

struct Constant {
  std::uint64_t bits;
  std::uint32_t size;
};
Constant constants[kMostConstants];
std::uint32_t constants_known = 0;

/// A comparison of two numbers of which the compiler does not say which is constant: the one that never
/// changes.
struct Site {
  std::uintptr_t at;
  std::uint64_t first[2];
  std::uint32_t size, seen;
  bool changed[2];
};
Site sites[kSites];

std::size_t place_of(std::uintptr_t at, std::size_t places) {
  return static_cast<std::size_t>((at * 0x9e3779b97f4a7c15u) >> 40) % places;
}

void know(std::uint64_t bits, std::uint32_t size) {
  for (std::uint32_t i = 0; i < constants_known; ++i)
    if (constants[i].bits == bits && constants[i].size == size) return;
  if (constants_known < kMostConstants) constants[constants_known++] = {bits, size};
}

void compared(std::uintptr_t at, std::uint64_t a, std::uint64_t b, std::uint32_t size) {
  for (std::size_t i = place_of(at, kSites), n = 0; n < 16; ++n, i = (i + 1) % kSites) {
    Site& s = sites[i];
    if (s.at == 0) s = {at, {a, b}, size, 0, {false, false}};
    if (s.at != at) continue;
    ++s.seen;
    s.changed[0] = s.changed[0] || s.first[0] != a;
    s.changed[1] = s.changed[1] || s.first[1] != b;
    return;
  }
}

/// The blocks that there are: calls of the function that each of them begins with.
struct Text {
  std::uint32_t calls = 0;
};
bool calls_it(const unsigned char* at) {
#if defined(__x86_64__)
  std::int32_t distance = 0;
  if (*at != 0xe8 && *at != 0xe9) return false;
  std::memcpy(&distance, at + 1, sizeof distance);
  return at + 5 + distance == reinterpret_cast<const unsigned char*>(&__sanitizer_cov_trace_pc);
#elif defined(__aarch64__)
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  if ((word & 0x7c000000u) != 0x14000000u) return false;  // b and bl
  const std::int64_t distance = static_cast<std::int64_t>(static_cast<std::int32_t>(word << 6)) >> 4;
  return at + distance == reinterpret_cast<const unsigned char*>(&__sanitizer_cov_trace_pc);
#else
  return at == nullptr;
#endif
}
int count_calls(dl_phdr_info* info, std::size_t, void* into) {
  const auto own = reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    const std::uintptr_t from = info->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || !(part.p_flags & PF_X) || own < from || own >= from + part.p_memsz)
      continue;
#if defined(__aarch64__)
    constexpr std::uintptr_t kStep = 4;
#else
    constexpr std::uintptr_t kStep = 1;
#endif
    for (std::uintptr_t at = from; at + 5 <= from + part.p_memsz; at += kStep)
      static_cast<Text*>(into)->calls += calls_it(reinterpret_cast<const unsigned char*>(at));
    return 1;
  }
  return 0;
}

std::int32_t report(const assay_call* call) {
  const assay_tensor& t = *call->values;
  auto* const out = reinterpret_cast<std::uint32_t*>(static_cast<unsigned char*>(t.data) + t.byte_offset);
  const std::int64_t room = t.ndim > 0 ? t.shape[t.ndim - 1] : 0;
  if (room < 4 || (t.ndim > 1 && t.shape[0] < 1)) return 0;
  for (const Site& s : sites)
    for (int side = 0; side < 2 && s.at != 0 && s.seen >= 8; ++side)
      if (!s.changed[side] && s.changed[1 - side]) know(s.first[side], s.size);
  Text text;
  dl_iterate_phdr(count_calls, &text);
  const std::int64_t fit = (room - 4) / 3;
  const std::uint32_t n = constants_known < fit ? constants_known : static_cast<std::uint32_t>(fit);
  const std::uint32_t head[] = {kMagic, blocks_run, text.calls, n};
  std::memcpy(out, head, sizeof head);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t words[] = {constants[i].size, static_cast<std::uint32_t>(constants[i].bits),
                                   static_cast<std::uint32_t>(constants[i].bits >> 32)};
    std::memcpy(out + 4 + 3 * i, words, sizeof words);
  }
  return 0;
}

}  // namespace

// What the compiler calls. GCC and clang agree on these names.
#define ASSAY_HERE reinterpret_cast<std::uintptr_t>(__builtin_return_address(0))
#define ASSAY_CALLED extern "C" __attribute__((visibility("hidden"))) void

ASSAY_CALLED __sanitizer_cov_trace_pc(void) {
  const std::uintptr_t at = ASSAY_HERE;
  for (std::size_t i = place_of(at, kPlaces), n = 0; n < 64; ++n, i = (i + 1) % kPlaces) {
    if (blocks[i] == at) return;
    if (blocks[i] != 0) continue;
    blocks[i] = at;
    ++blocks_run;
    return;
  }
}
ASSAY_CALLED __sanitizer_cov_trace_cmp1(std::uint8_t a, std::uint8_t b) { compared(ASSAY_HERE, a, b, 1); }
ASSAY_CALLED __sanitizer_cov_trace_cmp2(std::uint16_t a, std::uint16_t b) { compared(ASSAY_HERE, a, b, 2); }
ASSAY_CALLED __sanitizer_cov_trace_cmp4(std::uint32_t a, std::uint32_t b) { compared(ASSAY_HERE, a, b, 4); }
ASSAY_CALLED __sanitizer_cov_trace_cmp8(std::uint64_t a, std::uint64_t b) { compared(ASSAY_HERE, a, b, 8); }
ASSAY_CALLED __sanitizer_cov_trace_const_cmp1(std::uint8_t a, std::uint8_t) { know(a, 1); }
ASSAY_CALLED __sanitizer_cov_trace_const_cmp2(std::uint16_t a, std::uint16_t) { know(a, 2); }
ASSAY_CALLED __sanitizer_cov_trace_const_cmp4(std::uint32_t a, std::uint32_t) { know(a, 4); }
ASSAY_CALLED __sanitizer_cov_trace_const_cmp8(std::uint64_t a, std::uint64_t) { know(a, 8); }
ASSAY_CALLED __sanitizer_cov_trace_cmpf(float a, float b) {
  std::uint32_t x = 0, y = 0;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  compared(ASSAY_HERE, x, y, 16 + 4);
}
ASSAY_CALLED __sanitizer_cov_trace_cmpd(double a, double b) {
  std::uint64_t x = 0, y = 0;
  std::memcpy(&x, &a, sizeof x);
  std::memcpy(&y, &b, sizeof y);
  compared(ASSAY_HERE, x, y, 16 + 8);
}
/// cases[0]: how many; cases[1]: their size in bits; then the values.
ASSAY_CALLED __sanitizer_cov_trace_switch(std::uint64_t, std::uint64_t* cases) {
  for (std::uint64_t i = 0; i < cases[0]; ++i) know(cases[2 + i], static_cast<std::uint32_t>(cases[1] / 8));
}

/// The file's own kernels, and the one that reports.
extern "C" ASSAY_EXPORT const assay_plugin* assay_plugin_entry(void) {
  constexpr std::uint32_t kMost = 64;
  static assay_variant all[kMost];
  static assay_plugin plugin;
  const assay_plugin* const own = assay_plugin_entry_of_the_file();
  if (!own || own->variant_count >= kMost || own->variant_struct_size != sizeof(assay_variant)) return own;
  plugin = *own;
  std::memcpy(all, own->variants, own->variant_count * sizeof(assay_variant));
  assay_variant& last = all[own->variant_count];
  last = assay_variant{};
  last.struct_size = sizeof last;
  last.op = ASSAY_SOFTMAX;
  last.name = "assay_branches";
  last.in_dtype = "f32";
  last.device_type = 1;
  last.run = report;
  plugin.variants = all;
  plugin.variant_count = own->variant_count + 1;
  return &plugin;
}
