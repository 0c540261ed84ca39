// SPDX-License-Identifier: Apache-2.0
// The options that commands share, and the one function that reads integers for them. CLI11's own reads 010
// as 8, "" as 0 and " 5" as 5.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "reference/k_range.hpp"
#include "reports/out/run_seed.hpp"
#include "reports/out/shard_folder.hpp"

namespace assay {

/// The range of integers that an option accepts. They are never negative.
struct WholeRange {
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  bool hexadecimal = false;  // also accepts 0x10
  bool several = false;      // the option takes more than one number
};

/// The number that `text` writes in plain decimal: only digits, no leading 0. Throws InputError, one line
/// that names `option`, if `text` is not such a number or is outside the range.
std::uint64_t whole_number(const std::string& option, const std::string& text, const WholeRange& range = {});

/// Removes the text of a check, such as "INT in [1 - 1024]", from --help: the option's own text says it.
inline CLI::Validator unsaid(const CLI::Validator& check) { return check.description(""); }

namespace option_kit {

template <class T>
struct NumberOf {
  using Type = T;
  static constexpr bool several = false;
};
template <class T>
struct NumberOf<std::optional<T>> : NumberOf<T> {};
template <class T>
struct NumberOf<std::vector<T>> : NumberOf<T> {
  static constexpr bool several = true;
};

CLI::Validator reader(const std::string& option, const WholeRange& range);

}  // namespace option_kit

/// An option of integers: one, an optional one, or several.
template <class T>
CLI::Option* add_whole(CLI::App& command, const std::string& option, T& into, const std::string& what,
                       WholeRange range = {}) {
  using Number = typename option_kit::NumberOf<T>::Type;
  static_assert(std::is_integral_v<Number>);
  range.several = option_kit::NumberOf<T>::several;
  range.most = std::min<std::uint64_t>(range.most, std::numeric_limits<Number>::max());
  return command.add_option(option, into, what)->transform(option_kit::reader(option, range));
}

/// --k and --threshold.
void add_pick(CLI::App& command, AskedPick& pick, const std::string& what_k);
CLI::Option* add_threshold(CLI::App& command, std::optional<double>& threshold);
CLI::Option* add_threshold(CLI::App& command, std::vector<double>& thresholds);

/// --seed; also accepts 0x10.
CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed, const std::string& what = "seed of the inputs");

/// --seed of a run that draws one where none is given (reports/out/run_seed.hpp).
CLI::Option* add_run_seed(CLI::App& command, RunSeed& seed, const std::string& what = "seed of the inputs");

/// --threads, 1 to 1024; 0 if not given.
CLI::Option* add_threads(CLI::App& command, int& threads,
                         const std::string& what = "worker threads (one per core)");

/// --timeout: seconds, from `least` to 100000.
CLI::Option* add_timeout(CLI::App& command, double& seconds, const std::string& what, double least = 0.001);

/// --max-ulp: a finite number of 0 or more.
CLI::Option* add_max_ulp(CLI::App& command, std::optional<double>& ulp, const std::string& what);

/// --out, a folder or a file; must not be empty.
CLI::Option* add_out(CLI::App& command, std::string& out, const std::string& what);

/// --resume: goes on with the unfinished run in --out.
CLI::Option* add_resume(CLI::App& command, bool& resume);

/// --shard: index/count.
CLI::Option* add_shard(CLI::App& command, std::string& shard);
/// The part of --shard, or of the launcher that started this process. Where a run is divided it prints one
/// line that says which part this is, and what says so. Throws InputError.
Shard part_of_run(const std::string& given);

/// --family: one or several names of assay list --families. The command itself checks them with family_named.
/// One name is that of a family whose rows are drawn: require_drawn.
CLI::Option* add_family(CLI::App& command, std::string& family);
CLI::Option* add_family(CLI::App& command, std::vector<std::string>& families);
/// Throws InputError for the probe, whose rows depend on a kernel's outputs.
void require_drawn(const std::string& family);

CLI::Option* add_device(CLI::App& command, int& device);
/// Throws InputError if there is no such device. Without --device, each process that an MPI or Slurm launcher
/// starts on a host takes a GPU of its own, in turn.
void choose_device(int device);
/// The number of this process among those of a launcher on its host, by OMPI_COMM_WORLD_LOCAL_RANK,
/// MPI_LOCALRANKID or SLURM_LOCALID.
std::optional<int> local_rank();

/// --sandbox and --no-sandbox. Without either, kernels run in a sandbox where bubblewrap or Landlock works,
/// and where neither does, only registered keys run.
void add_sandbox(CLI::App& command);
/// True if --sandbox was given: nothing may run a kernel outside of a sandbox.
bool sandbox_demanded();
/// --device, --shared, --sandbox, --no-sandbox and --require, of a command that judges kernels in workers.
void add_machine(CLI::App& command, int& device, bool& shared, std::string& require);

CLI::Option* add_require(CLI::App& command, std::string& require);
/// Selects the device and checks --require: throws EnvironmentError if what is required is not available.
void choose_machine(const std::string& require, int device);
/// The same of a command that judges a kernel. --require may also say which inputs the kernel must take:
/// "cuda; V=1..4096". Returns these words, as conformance::region_of reads them. Throws InputError for
/// others.
std::string choose_machine_and_region(const std::string& require, int device);

}  // namespace assay
