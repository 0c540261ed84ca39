#include "reports/terminal/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace assay {
namespace {

constexpr int kBar = 40;
constexpr const char* kClear = "\r\033[K";

}  // namespace

Progress::Output::Output() : terminal(isatty(STDERR_FILENO) != 0) {}

Progress::Progress(std::string what, const Output& output)
    : what_(std::move(what)), output_(output), mover_([this] { move(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard guard(lock_);
    over_ = true;
  }
  end_.notify_one();
  mover_.join();
  if (output_.terminal) print(kClear);
}

void Progress::operator()(std::int64_t done, std::int64_t planned) {
  const std::lock_guard guard(lock_);
  done_ = done, planned_ = planned;
  if (output_.terminal || planned <= 0) return;
  const std::int64_t tenth = 10 * done / planned;
  if (tenth == tenth_) return;
  tenth_ = tenth;
  said_ = Clock::now();
  print(fmt::format("{} of {} {}\n", done, planned, what_));
}

void Progress::move() {
  std::unique_lock guard(lock_);
  while (
      !end_.wait_for(guard, output_.terminal ? output_.redraw : output_.remind, [this] { return over_; })) {
    const Clock::time_point now = Clock::now();
    if (output_.terminal) {
      print(kClear + line(now));
    } else if (now - said_ >= output_.remind) {
      said_ = now;
      print(line(now) + "\n");
    }
  }
}

/// "[####....]  10 %  5 of 50 records  12 s", or "compiling my.cu  4 s".
std::string Progress::line(Clock::time_point now) const {
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  if (planned_ <= 0) return fmt::format("{}  {:.0f} s", what_, seconds);
  const auto percent = static_cast<int>(100 * done_ / planned_);
  const auto filled = static_cast<std::size_t>(percent * kBar / 100);
  const std::string bar =
      fmt::format("[{}{}] {:3d} %  ", std::string(filled, '#'), std::string(kBar - filled, '.'), percent);
  return fmt::format("{}{} of {} {}  {:.0f} s", output_.terminal ? bar : "", done_, planned_, what_, seconds);
}

void Progress::print(const std::string& text) const {
  std::fputs(text.c_str(), output_.to);
  std::fflush(output_.to);
}

}  // namespace assay
