#include "reports/terminal/progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

namespace assay {
namespace {

using std::chrono::milliseconds;

/// A file in memory, and what was written to it.
class Sink {
 public:
  Sink() : file_(open_memstream(&text_, &size_)) {}
  ~Sink() {
    std::fclose(file_);
    std::free(text_);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  std::FILE* file() const { return file_; }
  std::string text() const {
    flockfile(file_);
    fflush_unlocked(file_);
    const std::string all(text_, size_);
    funlockfile(file_);
    return all;
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

Progress::Output output(const Sink& sink, bool terminal, milliseconds every) {
  Progress::Output o;
  o.to = sink.file();
  o.terminal = terminal;
  o.redraw = o.remind = every;
  return o;
}

TEST(Progress, ALogHasALineEveryTenth) {
  const Sink sink;
  {
    Progress progress("records", output(sink, false, std::chrono::hours(1)));
    for (int done = 1; done <= 40; ++done) progress(done, 40);
  }
  const std::string text = sink.text();
  EXPECT_TRUE(text.starts_with("4 of 40 records\n8 of 40 records\n")) << text;
  EXPECT_TRUE(text.ends_with("\n40 of 40 records\n")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 10);
}

TEST(Progress, ALogSaysMoreWhileOneCaseTakesLong) {
  const Sink sink;
  Progress progress("records", output(sink, false, milliseconds(1)));
  progress(3, 40);
  while (sink.text().find("3 of 40 records  ") == std::string::npos) std::this_thread::yield();
}

TEST(Progress, ATerminalHasOneLineThatMovesAndIsGoneInTheEnd) {
  const Sink sink;
  {
    Progress progress("compiling my.cu", output(sink, true, milliseconds(1)));
    while (sink.text().find("\r\033[Kcompiling my.cu  ") == std::string::npos) std::this_thread::yield();
    progress(10, 40);
    while (sink.text().find("]  25 %  10 of 40 compiling my.cu  ") == std::string::npos)
      std::this_thread::yield();
  }
  const std::string text = sink.text();
  EXPECT_TRUE(text.ends_with("\r\033[K"));
  EXPECT_EQ(text.find('\n'), text.npos);
}

}  // namespace
}  // namespace assay
