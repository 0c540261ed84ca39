// Shows on standard error what a long command does, and how far it is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace assay {

/// On a terminal one line that redraws itself five times a second, so that it moves even while one case or
/// the compiler takes long. In a log a line every tenth of the work, and one after every half minute without
/// such a line. The line of a terminal is gone when the work is.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  struct Output {
    std::FILE* to = stderr;
    bool terminal;
    Clock::duration redraw = std::chrono::milliseconds(200), remind = std::chrono::seconds(30);
    Output();
  };

  /// `what` is counted, as records, or done as a whole, as "compiling my.cu".
  explicit Progress(std::string what = "records", const Output& output = Output());
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Called from any thread.
  void operator()(std::int64_t done, std::int64_t planned);

 private:
  void move();  // the thread that redraws
  std::string line(Clock::time_point now) const;
  void print(const std::string& text) const;

  const std::string what_;
  const Output output_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex lock_;
  std::condition_variable end_;
  std::int64_t done_ = 0, planned_ = 0;
  std::int64_t tenth_ = 0;  // the last one that a log has
  Clock::time_point said_ = begin_;
  bool over_ = false;
  std::thread mover_;
};

}  // namespace assay
