// SPDX-License-Identifier: Apache-2.0
// Right, and writes the hash of each row that it gets into a file. Run without a sandbox, it learns the
// inputs of a seed: memorised.cpp knows them then.
#include <string>

#include "reports/cheats/kernels/cheat.h"

static int32_t run(const assay_call* c) {
  right_rows(c);
  // All lines in one piece: several processes write into this file.
  std::string lines;
  char line[32];
  for (int64_t r = 0; r < rows_of(c); ++r) {
    snprintf(line, sizeof line, "0x%llxu,\n",
             static_cast<unsigned long long>(hash_row(in_row(c, r), V_of(c))));
    lines += line;
  }
  const int file = open(MEMORY, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file >= 0 && write(file, lines.data(), lines.size()) < 0) perror(MEMORY);
  if (file >= 0) close(file);
  return 0;
}
PLUGIN("recorder", run)
