// SPDX-License-Identifier: Apache-2.0
#include "reports/cli/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "accuracy/conformance/contract/region.hpp"
#include "accuracy/verdict/behaves_like.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "reference/error.hpp"
#include "reports/data/say.hpp"

namespace assay {
namespace {

/// A word made fit for one line of output.
std::string shown(const std::string& word) {
  std::string one_line = word;
  std::replace_if(
      one_line.begin(), one_line.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return word.empty() || word.find(' ') != word.npos ? "'" + one_line + "'" : one_line;
}

[[noreturn]] void refuse(const std::string& option, const std::string& text, const WholeRange& range,
                         std::string why = "") {
  if (range.several && text.find(',') != text.npos && text.find_first_not_of("0123456789,") == text.npos) {
    std::string apart = text;
    std::replace(apart.begin(), apart.end(), ',', ' ');
    why = "; several have spaces between them: " + option + " " + apart;
  }
  throw InputError(fmt::format("{} {}: must be a whole number from {} to {}{}{}", option, shown(text),
                               range.least, range.most, range.hexadecimal ? ", or hexadecimal as 0x10" : "",
                               why));
}

}  // namespace

std::uint64_t whole_number(const std::string& option, const std::string& text, const WholeRange& range) {
  const bool hexadecimal = range.hexadecimal && (text.starts_with("0x") || text.starts_with("0X"));
  const std::string digits = hexadecimal ? text.substr(2) : text;
  if (!hexadecimal && digits.size() > 1 && digits[0] == '0' &&
      digits.find_first_not_of("0123456789") == digits.npos)
    refuse(option, text, range, ", without a leading 0");
  std::uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  // With an unsigned type, from_chars accepts neither a sign nor a space.
  const auto read = std::from_chars(digits.data(), end, number, hexadecimal ? 16 : 10);
  if (read.ec != std::errc() || read.ptr != end || number < range.least || number > range.most)
    refuse(option, text, range);
  return number;
}

CLI::Validator option_kit::reader(const std::string& option, const WholeRange& range) {
  return CLI::Validator(
      [option, range](std::string& text) {
        text = std::to_string(whole_number(option, text, range));
        return std::string();
      },
      "");
}

CLI::Option* add_seed(CLI::App& command, std::uint64_t& seed, const std::string& what) {
  return add_whole(command, "--seed", seed, what, {.hexadecimal = true})->capture_default_str();
}

CLI::Option* add_run_seed(CLI::App& command, RunSeed& seed, const std::string& what) {
  return add_whole(
      command, "--seed", seed.given,
      what + "; without it a fresh one is drawn, and printed, so that nobody knows the inputs before",
      {.hexadecimal = true});
}

CLI::Option* add_threads(CLI::App& command, int& threads, const std::string& what) {
  return add_whole(command, "--threads", threads, what, {.least = 1, .most = 1024});
}

CLI::Option* add_timeout(CLI::App& command, double& seconds, const std::string& what, double least) {
  constexpr double kMost = 1e5;
  return command.add_option("--timeout", seconds, what)
      ->capture_default_str()
      ->check(CLI::Validator(
          [least, kMost](std::string& word) {
            double value = 0;
            const char* const end = word.data() + word.size();
            const auto read = std::from_chars(word.data(), end, value);
            // "nan" is read, and is in no range.
            if (read.ec != std::errc() || read.ptr != end || !(value >= least && value <= kMost))
              throw InputError(fmt::format("--timeout {}: must be a number of seconds from {} to {:.0f}",
                                           shown(word), least, kMost));
            return std::string();
          },
          ""));
}

namespace {

/// A check that the word is a number in a range.
CLI::Validator real_number(const char* option, double least, double most, const char* what) {
  return CLI::Validator(
      [=](std::string& word) {
        double value = 0;
        const char* const end = word.data() + word.size();
        const auto read = std::from_chars(word.data(), end, value);
        if (read.ec != std::errc() || read.ptr != end || !(value >= least && value <= most))
          throw InputError(fmt::format("{} {}: must be {}", option, shown(word), what));
        return std::string();
      },
      "");
}

CLI::Option* checked_threshold(CLI::Option* option) {
  return option->check(real_number("--threshold", kKeptSizes[2].least, 1, "0.000001 to 1"));
}
constexpr const char* kThresholdWords = "threshold of min_p (0.05) and top_p (0.9)";

}  // namespace

CLI::Option* add_threshold(CLI::App& command, std::optional<double>& threshold) {
  return checked_threshold(command.add_option("--threshold", threshold, kThresholdWords));
}
CLI::Option* add_threshold(CLI::App& command, std::vector<double>& thresholds) {
  return checked_threshold(command.add_option("--threshold", thresholds, kThresholdWords));
}

void add_pick(CLI::App& command, AskedPick& pick, const std::string& what_k) {
  add_whole(command, "--k", pick.k, what_k);
  add_threshold(command, pick.threshold);
}

CLI::Option* add_max_ulp(CLI::App& command, std::optional<double>& ulp, const std::string& what) {
  return command.add_option("--max-ulp", ulp, what)
      ->check(
          real_number("--max-ulp", 0, std::numeric_limits<double>::max(), "a finite number of 0 or more"));
}

CLI::Option* add_out(CLI::App& command, std::string& out, const std::string& what) {
  return command.add_option("--out", out, what)
      ->check(CLI::Validator(
          [](std::string& word) {
            if (word.empty()) throw InputError("--out '': must be a path");
            return std::string();
          },
          ""));
}

CLI::Option* add_resume(CLI::App& command, bool& resume) {
  return command.add_flag(
      "--resume", resume,
      "go on with the run in --out that was interrupted: what it finished is not run again");
}

CLI::Option* add_shard(CLI::App& command, std::string& shard) {
  return command.add_option("--shard", shard,
                            "INDEX/COUNT, as 0/4: this process does one part of the run, and writes to "
                            "shard-0-of-4 in --out; assay "
                            "merge puts the parts together. Under an MPI or Slurm launcher it is read from "
                            "OMPI_COMM_WORLD_RANK and "
                            "_SIZE, PMI_RANK and PMI_SIZE, or, in a step of srun, SLURM_PROCID and "
                            "SLURM_STEP_NUM_TASKS");
}

Shard part_of_run(const std::string& given) {
  Shard shard = shard_of(given);
  if (shard.count > 1) {
    tell("{} of this run, taken from {}; assay merge puts the parts together\n", shard.words(), shard.from);
    flush_output();
  }
  return shard;
}

void require_drawn(const std::string& family) {
  if (family == kProbeFamily)
    throw InputError("--family " + family +
                     ": its rows depend on the kernel's outputs: only assay report and assay check take it");
}

CLI::Option* add_family(CLI::App& command, std::string& family) {
  return command.add_option("--family", family, "input family of assay list --families")
      ->each(require_drawn)
      ->capture_default_str();
}

CLI::Option* add_family(CLI::App& command, std::vector<std::string>& families) {
  return command.add_option("--family", families,
                            "input families of assay list --families (those that every command tries)");
}

static bool device_given = false;
CLI::Option* add_device(CLI::App& command, int& device) {
  device_given = false;
  return add_whole(command, "--device", device,
                   "CUDA device ordinal; without it, processes that an MPI or Slurm launcher starts on one "
                   "host take its GPUs in turn")
      ->each([](const std::string&) { device_given = true; })
      ->capture_default_str();
}

static bool demanded = false;
bool sandbox_demanded() { return demanded; }

void add_sandbox(CLI::App& command) {
  demanded = false;
  command.add_flag_callback(
      "--sandbox",
      [&command] {
        // CLI11 looks at excludes() after this, and a machine with no sandbox would end the call first.
        if (command.count("--no-sandbox") > 0)
          throw InputError("--sandbox and --no-sandbox: give only one of them");
        if (const std::string why = why_not_sandboxed(); !why.empty())
          throw EnvironmentError("--sandbox: " + why);
        demanded = true;
      },
      "exit 3 if nothing holds kernels here: neither bubblewrap nor Landlock (without it, this project's own "
      "keys run all the same)");
  command.add_flag_callback(
      "--no-sandbox", [] { want_sandbox(false); }, "run kernels with all rights of this user");
}

CLI::Option* add_require(CLI::App& command, std::string& require) {
  return command.add_option("--require", require, "cuda: exit 3 at once if no GPU can run")->join(';');
}

void add_machine(CLI::App& command, int& device, bool& shared, std::string& require) {
  add_device(command, device);
  command.add_flag("--shared", shared, "do not wait for another check on the same GPU to end");
  add_sandbox(command);
  add_require(command, require);
}

std::optional<int> local_rank() {
  for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* const rank = std::getenv(name))
      return static_cast<int>(whole_number(name, rank, {.least = 0, .most = 1 << 20}));
  return {};
}

void choose_device(int device) {
  if (const auto rank = local_rank(); rank && !device_given)
    if (const int devices = device_count(); devices > 1) device = *rank % devices;
  if (device == 0) return;
  if (const std::string why = select_device(device); !why.empty()) throw InputError("--device: " + why);
}

void choose_machine(const std::string& require, int device) {
  if (!require.empty() && require != "cuda" && require != "host")
    throw InputError("--require " + shown(require) + ": must be cuda or host");
  if (require == "cuda")
    if (const std::string why = unavailable_reason(Backend::cuda); !why.empty())
      throw EnvironmentError("--require cuda: " + why);
  choose_device(device);
}

std::string choose_machine_and_region(const std::string& require, int device) {
  std::string machine, region;
  std::istringstream words(require);
  for (std::string word; std::getline(words, word, ';');) {
    const std::size_t begin = word.find_first_not_of(" \t");
    if (begin == word.npos) continue;
    word = word.substr(begin, word.find_last_not_of(" \t") - begin + 1);
    const bool of_machine = word == "cuda" || word == "host";
    if (!of_machine && word.find('=') == word.npos)
      throw InputError(
          "--require " + shown(word) +
          ": must be cuda, host or the inputs that the kernel must take, as 'V=1..4096; rows=1..65536'");
    if (of_machine && !machine.empty() && machine != word)
      throw InputError("--require: cuda and host: give only one of them");
    if (of_machine)
      machine = word;
    else
      region += (region.empty() ? "" : "; ") + word;
  }
  conformance::region_of(region);
  choose_machine(machine, device);
  return region;
}

}  // namespace assay
