// SPDX-License-Identifier: Apache-2.0
// For tests of pages in a browser: headless Chromium, told what to do over two pipes (Chrome DevTools
// Protocol). It collects what a page must not cause: errors, and requests for anything but files.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/isolation/process/child.hpp"
#include "reports/data/files.hpp"
#include "reports/data/functions_report.hpp"
#include "reports/history/history.hpp"
#include "reports/page/folder/write_report.hpp"
#include "reports/page/test_data.hpp"
#include "reports/sweep/data/test_data.hpp"
#include "reports/sweep_page/page.hpp"

namespace assay::test_browser {

using nlohmann::json;

/// The program, or "" if none is installed. Debian's package is `chromium`.
inline std::string find_chromium() {
  const char* const path = std::getenv("PATH");
  for (std::string folders = path ? path : ""; !folders.empty();) {
    const auto end = folders.find(':');
    const std::filesystem::path folder = folders.substr(0, end);
    folders = end == std::string::npos ? "" : folders.substr(end + 1);
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
      if (access((folder / name).c_str(), X_OK) == 0) return (folder / name).string();
  }
  return "";
}

class Browser {
 public:
  /// `folder`: for the browser's own files.
  Browser(const std::string& program, const std::filesystem::path& folder) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) throw std::runtime_error("no pipe");
    write_ = to[1], read_ = from[0];
    // The browser reads from 3 and writes to 4. None of ours may have these numbers before.
    const int in = fcntl(to[0], F_DUPFD_CLOEXEC, 20), out = fcntl(from[1], F_DUPFD_CLOEXEC, 20);
    close(to[0]), close(from[1]);
    const int log = ::open((folder / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    // It leads a group, so that its processes end with it.
    const int error = isolation::start(
        {.words = {program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--no-first-run", "--disable-extensions", "--disable-background-networking",
                   "--disable-component-update", "--remote-debugging-pipe",
                   "--user-data-dir=" + (folder / "profile").string()},
         .descriptors = {{log, 1}, {log, 2}, {in, 3}, {out, 4}},
         .apart = true},
        pid_);
    close(log);
    close(in), close(out);
    if (error) throw std::runtime_error("the browser does not start");
    const json target = call("Target.createTarget", {{"url", "about:blank"}});
    session_ = call("Target.attachToTarget", {{"targetId", target.at("targetId")}, {"flatten", true}})
                   .at("sessionId");
    for (const char* domain : {"Page", "Runtime", "Log", "Network"}) call(std::string(domain) + ".enable");
  }
  ~Browser() {
    close(write_), close(read_);
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  json call(const std::string& method, const json& parameters = json::object()) {
    json m = {{"id", ++last_}, {"method", method}, {"params", parameters}};
    if (!session_.empty()) m["sessionId"] = session_;
    const std::string text = m.dump() + '\0';
    if (write(write_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw std::runtime_error("the browser does not listen");
    while (true) {
      const json answer = next();
      if (answer.value("id", 0) != last_) continue;
      if (answer.contains("error")) throw std::runtime_error(method + ": " + answer["error"].dump());
      return answer.at("result");
    }
  }

  /// Opens a file and waits until it is loaded.
  void open(const std::filesystem::path& file) {
    loaded_ = false;
    call("Page.navigate", {{"url", "file://" + file.string()}});
    wait_for_load();
  }
  /// Waits for the page that a click leads to.
  void wait_for_load() {
    while (!loaded_) next();
    loaded_ = false;
  }
  /// The value of an expression in JavaScript.
  json evaluate(const std::string& expression) {
    const json r = call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}});
    if (r.contains("exceptionDetails"))
      throw std::runtime_error(expression + ": " + r["exceptionDetails"].dump());
    return r.at("result").value("value", json());
  }
  std::string text(const std::string& expression) { return evaluate(expression).get<std::string>(); }
  /// Clicks with the mouse in the middle of an element.
  void click(const std::string& selector) {
    const json at = evaluate("(() => {const e = document.querySelector(" + json(selector).dump() +
                             "); e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); "
                             "return [r.x + r.width / 2, r.y + r.height / 2]})()");
    for (const char* type : {"mousePressed", "mouseReleased"})
      call("Input.dispatchMouseEvent",
           {{"type", type}, {"x", at[0]}, {"y", at[1]}, {"button", "left"}, {"clickCount", 1}});
  }
  void key(const std::string& name, int code, const std::string& text = "") {
    json down = {{"type", "keyDown"}, {"key", name}, {"code", name}, {"windowsVirtualKeyCode", code}};
    if (!text.empty()) down["text"] = text;
    call("Input.dispatchKeyEvent", down);
    call("Input.dispatchKeyEvent",
         {{"type", "keyUp"}, {"key", name}, {"code", name}, {"windowsVirtualKeyCode", code}});
  }
  void type(const std::string& text) { call("Input.insertText", {{"text", text}}); }
  void width(int pixels) {
    call("Emulation.setDeviceMetricsOverride",
         {{"width", pixels}, {"height", 900}, {"deviceScaleFactor", 1}, {"mobile", false}});
  }

  /// `media`: "screen" or "print"; `scheme`: "light" or "dark".
  void medium(const std::string& media, const std::string& scheme) {
    call("Emulation.setEmulatedMedia",
         {{"media", media}, {"features", {{{"name", "prefers-color-scheme"}, {"value", scheme}}}}});
  }

  /// Errors of scripts and of the console; addresses that are no files.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  json next() {
    while (true) {
      if (const auto end = buffer_.find('\0'); end != std::string::npos) {
        const json m = json::parse(buffer_.substr(0, end));
        buffer_.erase(0, end + 1);
        note(m);
        return m;
      }
      pollfd waiting{read_, POLLIN, 0};
      if (poll(&waiting, 1, 60'000) <= 0) throw std::runtime_error("the browser does not answer");
      char bytes[65536];
      const ssize_t n = read(read_, bytes, sizeof bytes);
      if (n <= 0) throw std::runtime_error("the browser has ended");
      buffer_.append(bytes, static_cast<std::size_t>(n));
    }
  }
  void note(const json& m) {
    const std::string method = m.value("method", "");
    if (method == "Page.loadEventFired") loaded_ = true;
    if (method == "Runtime.exceptionThrown") faults_.push_back(m.dump());
    if (method == "Runtime.consoleAPICalled" && m["params"]["type"] == "error") faults_.push_back(m.dump());
    if (method == "Log.entryAdded" && m["params"]["entry"]["level"] == "error") faults_.push_back(m.dump());
    if (method == "Network.requestWillBeSent") {
      const std::string url = m["params"]["request"]["url"];
      if (!url.starts_with("file://") && !url.starts_with("data:")) faults_.push_back(url);
    }
  }

  pid_t pid_ = 0;
  int write_ = -1, read_ = -1, last_ = 0;
  bool loaded_ = false;
  std::string session_, buffer_;
  std::vector<std::string> faults_;
};

/// What hides something from a reader, at this width: a page wider than its window, a table whose last column
/// cannot be scrolled into view, a heading or a first column that scrolls away, a long table without a
/// filter. The command below a case spans all columns, so it is no first column.
inline constexpr const char* kOutOfReach = R"js((() => {
  const bad = new Set();
  if (document.documentElement.scrollWidth > innerWidth + 1) bad.add("the page is wider than its window");
  for (const d of document.querySelectorAll("details")) d.open = true;
  for (const p of document.querySelectorAll(".choice [data-dtype]")) p.hidden = false;
  for (const table of document.querySelectorAll("table")) {
    const say = what => bad.add((table.closest("section") || {id: "?"}).id + ": " + what);
    const box = table.closest(".scroll");
    if (!box) { say("a table that does not scroll"); continue; }
    const edge = box.getBoundingClientRect();
    const wide = box.scrollWidth > box.clientWidth + 1, tall = box.scrollHeight > box.clientHeight + 1;
    const rows = [...table.tBodies].flatMap(b => [...b.rows]).filter(r => r.cells[0].colSpan === 1);
    const heads = table.tHead ? [table.tHead.rows[0]] : [];
    box.scrollLeft = 1e6;
    if (table.getBoundingClientRect().right > edge.right + 2) say("the last column is out of reach");
    for (const r of wide ? heads.concat(rows) : []) {
      const first = r.cells[0].getBoundingClientRect();
      if (first.left < edge.left - 2) say("the first column scrolls away");
      if (first.width > edge.width * 0.6) say("the first column hides the others");
    }
    box.scrollTop = 1e6;
    if (tall && table.tHead && table.tHead.getBoundingClientRect().top < edge.top - 2) say("the heading scrolls away");
    box.scrollLeft = box.scrollTop = 0;
    const before = box.previousElementSibling;
    if (table.tHead && rows.length >= 15 && !(before && before.className === "filter")) say("no filter");
  }
  return [...bad].join("; ");
})())js";

/// Text that is hard to read: the ratio of its brightness to that of what is behind it is below 4.5, the
/// least that WCAG 2.1 (1.4.3) allows for small text. Marks in pictures are not text.
inline constexpr const char* kHardToRead = R"js((() => {
  const parts = c => c.match(/[\d.]+/g).map(Number);
  const bright = c => {
    const [r, g, b] = parts(c).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor, p = parts(c);
      if (p.length < 4 || p[3] > 0) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const bad = new Set(), seen = new Map();
  for (const e of document.querySelectorAll("h1,h2,h3,p,a,b,i,dt,dd,th,td,small,code,span,button,summary,label,li")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const front = getComputedStyle(e).color, back = behind(e), pair = front + " on " + back;
    if (!seen.has(pair)) {
      const [a, b] = [bright(front), bright(back)].sort((x, y) => y - x);
      seen.set(pair, (a + 0.05) / (b + 0.05));
    }
    if (seen.get(pair) < 4.5)
      bad.add(`${e.tagName}.${e.className} ${pair}: ${seen.get(pair).toFixed(2)}`);
  }
  return [...bad].join("; ");
})())js";

}  // namespace assay::test_browser

namespace assay {

/// For tests of every page in a browser: a folder with the pages of sweep, functions, selftest and history,
/// and of a report.
inline std::string history_page() {
  std::vector<HistoryRun> runs;
  for (int seed = 1; seed <= 3; ++seed) {
    const ReportData data = test_data::synthetic(seed, {"host"});
    const Digest digest(data, Digest::Depth::all);
    runs.push_back(history_run("run " + std::to_string(seed), &digest, {}));
  }
  return render_history_page(runs);
}

inline constexpr const char* kPages[] = {"index.html",        "compare.html",   "sweep.html",
                                         "sweep_shapes.html", "functions.html", "selftest.html",
                                         "history.html"};

class EveryPage : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string program = test_browser::find_chromium();
    if (program.empty()) return;
    folder_ = std::filesystem::temp_directory_path() / ("assay-every-page-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    prepare_folder(folder_);
    write_report(folder_, test_data::synthetic(1, {"host"}), {});
    const auto records = sweep_test_data::records();
    const auto accesses = sweep_test_data::accesses();
    write_files({{folder_ / "sweep.html", sweep_page(records, accesses)},
                 {folder_ / "sweep_shapes.html", sweep_shapes_page(records, accesses)},
                 {folder_ / "functions.html",
                  render_functions_page(read_functions(std::filesystem::path(ASSAY_SOURCE_DIR) /
                                                       "reports/published/h200/functions.json"))},
                 {folder_ / "selftest.html", render_selftest_page(test_data::all_well())},
                 {folder_ / "history.html", history_page()}});
    link_pages(folder_);
    browser_ = new test_browser::Browser(program, folder_);
  }
  static void TearDownTestSuite() {
    delete browser_;
    browser_ = nullptr;
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  void SetUp() override {
    if (!browser_) GTEST_SKIP() << "chromium is not installed (Debian package: chromium)";
    browser_->medium("screen", "light");
  }
  void TearDown() override {
    if (browser_)
      for (const std::string& fault : browser_->faults()) ADD_FAILURE() << fault;
  }
  static test_browser::Browser& open(const char* page, int width) {
    browser_->width(width);
    browser_->open(folder_ / page);
    return *browser_;
  }
  static inline std::filesystem::path folder_;
  static inline test_browser::Browser* browser_ = nullptr;
};

}  // namespace assay
