// The plan of a report: which keys meet which inputs. It is made and stated before anything runs, and what
// ran is counted against it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.hpp"
#include "reference/inputs.hpp"
#include "reference/oracle.hpp"

namespace assay {

/// What the command line asks for. Empty lists mean everything.
struct Selection {
  std::vector<std::string> keys;      // glob patterns over variant/dtype@backend
  std::vector<std::string> families;  // names
  std::vector<std::int64_t> sizes;    // V
  std::vector<std::string> dtypes;
  std::optional<std::int64_t> rows;
  std::optional<int> k;
  std::optional<std::int64_t> pitch;  // distance between row starts in the first launch; V by default
  std::optional<std::string> op;
  std::string logits;  // .npy file in place of families
  std::uint64_t seed = 1;
  bool full = false;
  Tier tier = Tier::fast;  // of the oracle; verdicts are the same
};

/// One record to make.
struct Job {
  const Variant* variant = nullptr;
  Op op = Op::softmax;
  int k = 0;
};

/// Inputs that are made, and whose truth is computed, once; and every job that uses them.
struct Unit {
  const Family* family = nullptr;  // null: rows of the .npy file
  Dtype dtype = Dtype::f32;
  std::int64_t V = 0;
  std::int64_t rows = 0;
  std::vector<Job> jobs;
  std::size_t first_record = 0;
};

struct Plan {
  std::vector<const Variant*> keys;
  std::vector<const Family*> families;
  std::vector<std::int64_t> sizes;
  std::vector<Unit> units;
  bool probes = false;          // one record of family `probe` per key, after those of the units
  std::size_t first_probe = 0;  // its place among the records
  std::int64_t rows = 0;        // rows of input, over all units
  std::int64_t records = 0;
  std::int64_t elements = 0;  // rows x V over all records
};

/// Throws InputError for an unknown key, family or dtype, an impossible V, k or rows, an empty plan.
Plan make_plan(const Selection& selection);

/// "32 keys x 36 families x 18 V, 25000 rows of input: 20412 records, 214.0 million elements".
std::string describe(const Plan& plan);

}  // namespace assay
