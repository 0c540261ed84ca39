// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "reports/out/command_line.hpp"
#include "reports/out/journal.hpp"

namespace assay {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
// Read by the handler, so they are plain memory that is complete before the handler is installed.
char g_after[8192];
std::size_t g_after_size = 0;
const std::atomic<std::int64_t>* g_finished = nullptr;
struct sigaction g_old[std::size(kSignals)];

void write_all(const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t n = write(STDERR_FILENO, text, size);
    if (n <= 0) return;
    text += n;
    size -= static_cast<std::size_t>(n);
  }
}

/// Calls nothing but write, signal and raise: a handler may not do more.
void say_how_to_go_on(int number) {
  constexpr char kInterrupted[] = "\nassay: interrupted: ";
  write_all(kInterrupted, sizeof kInterrupted - 1);
  char digits[24];
  std::size_t at = sizeof digits;
  std::int64_t n = g_finished ? g_finished->load() : 0;
  do digits[--at] = static_cast<char>('0' + n % 10);
  while ((n /= 10) > 0);
  write_all(digits + at, sizeof digits - at);
  write_all(g_after, g_after_size);
  signal(number, SIG_DFL);
  raise(number);
}

/// Calls nothing but write, signal and raise, too.
void say_nothing_was_lost(int number) {
  constexpr char kSaid[] =
      "\nassay: interrupted while a file was compiled: nothing was lost, and the same command begins again\n";
  write_all(kSaid, sizeof kSaid - 1);
  signal(number, SIG_DFL);
  raise(number);
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

void note_compilation(bool runs) {
  for (const int number : kSignals) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (runs && now.sa_handler == SIG_DFL) handle(number, say_nothing_was_lost);
    if (!runs && now.sa_handler == say_nothing_was_lost) handle(number, SIG_DFL);
  }
}

InterruptNote::InterruptNote(const std::filesystem::path& where, const std::atomic<std::int64_t>& finished) {
  const std::string text = fmt::format(" entries of what is finished are kept in {}\nassay: to go on: {}\n",
                                       where.string(), command_to_resume());
  g_after_size = std::min(text.size(), sizeof g_after);
  std::copy_n(text.data(), g_after_size, g_after);
  g_finished = &finished;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &g_old[i]);
    // A compiler may run just now; afterwards its words are wrong.
    if (g_old[i].sa_handler == say_nothing_was_lost) g_old[i].sa_handler = SIG_DFL;
    if (g_old[i].sa_handler != SIG_IGN) handle(kSignals[i], say_how_to_go_on);  // below nohup it is ignored
  }
}

InterruptNote::~InterruptNote() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &g_old[i], nullptr);
  g_finished = nullptr;
}

}  // namespace assay
