// SPDX-License-Identifier: Apache-2.0
#include "reports/data/environment.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/isolation/process/environment.hpp"
#include "reports/build_info.hpp"

namespace assay {
namespace {

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

std::string driver_version() {
  std::ifstream in("/proc/driver/nvidia/version");
  std::string line;
  if (!std::getline(in, line)) return {};
  // The first word that has the form of 580.159.04.
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (std::isdigit(static_cast<unsigned char>(word[0])) && word.find('.') != std::string::npos) return word;
  return line;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> environment() {
  utsname u{};
  uname(&u);
  std::vector<std::pair<std::string, std::string>> e = {
      {"assay", std::string(build_info::version) + " (commit " + build_info::commit + ")"},
      {"system", std::string(u.sysname) + " " + u.release + " " + u.machine},
      {"CPU", cpu_model() + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads"},
      {"host compiler", build_info::compiler},
      {"host flags", build_info::flags},
      {"CUDA compiler", build_info::cuda}};
  if (const std::string driver = driver_version(); !driver.empty()) e.emplace_back("driver", driver);
  if (const auto kept = isolation::names_to_keep(); !kept.empty())
    e.emplace_back("variables of kernels", fmt::format("also {} (ASSAY_KEEP_ENV)", fmt::join(kept, ", ")));
  const auto device = describe_device();
  if (device.empty())
    e.emplace_back("GPU", unavailable_reason(Backend::cuda));
  else
    e.insert(e.end(), device.begin(), device.end());
  return e;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm t{};
  gmtime_r(&now, &t);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &t);
  return text;
}

namespace {
constexpr const char* kSandbox = "sandbox";
constexpr const char* kNone = "none: ";
constexpr const char* kSome = ", but not for ";
}  // namespace

std::pair<std::string, std::string> sandbox_of_workers() {
  const std::string why = why_not_sandboxed();
  return {kSandbox, why.empty() ? held_by() : kNone + why};
}

void say_not_sandboxed(std::vector<std::pair<std::string, std::string>>& environment,
                       const std::set<std::string>& groups) {
  if (groups.empty()) return;
  for (auto& [label, value] : environment)
    if (label == kSandbox && !value.starts_with(kNone))
      value += fmt::format("{}{} {}: the tool runs a kernel outside of any sandbox", kSome,
                           groups.size() == 1 ? "the group" : "the groups", fmt::join(groups, ", "));
}

std::string not_sandboxed(const std::vector<std::pair<std::string, std::string>>& environment) {
  for (const auto& [label, value] : environment) {
    if (label != kSandbox) continue;
    if (value.starts_with(kNone)) return value.substr(std::string_view(kNone).size());
    if (const std::size_t at = value.find(kSome); at != value.npos)
      return value.substr(at + std::string_view(kSome).size());
  }
  return {};
}

std::string guard_words(const std::string& where) {
  return where == "sandbox"         ? "bubblewrap"
         : where == "landlock"      ? "Landlock"
         : where == "not_sandboxed" ? "not sandboxed"
                                    : "";
}

}  // namespace assay
