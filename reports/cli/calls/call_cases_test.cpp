// SPDX-License-Identifier: Apache-2.0
// Command lines and what they say, in .calls files. Each test works in an empty folder of its own.
//
//   $ WORDS              calls assay in this process; $$ in a process of its own
//   $answer WORDS        the same, with --json and --junit junit.xml, whose answers must agree
//   => 2 TEXT            its exit status. With a text: standard error is one line that holds it (holds, in
//                        case_file_test.hpp). A call with status 2 always says one line, and nothing else
//   > TEXT  2> TEXT      a line of its standard output (error) holds the text; such lines in their order
//   >! TEXT 2>! TEXT     no line does; first TEXT: the first line of standard output does
//   records DIR N WHAT   so many records in DIR are such: N is 3 or >3, WHAT is empty or group=shapes
//   status!=pass again DIR 1          the command of DIR's first record makes that one record again, in
//   DIR.again; the call ends with 1 json FILE WHAT       a document is such: counts.failed=0 failures.#>2
//   kernels.*.key~^safe; - is standard output;
//                        # is a size, * every element, =@PATH asks for what is there
//   in FILE TEXT         a line of a file holds the text; in! FILE TEXT: none does
//   same FILE FILE       two files have the same records in any order, whatever they say of the run
//   there A B  gone A B  files that are there, and that are not
//   file NAME TEXT       makes a file of this line and of the lines below that begin with |
//                        Its bytes may be \xNN. npy NAME f32 2x33 makes a tensor of zeros
//   folder A B           also append NAME TEXT, copy FROM TO, move FROM TO, link TO NAME, cut FROM TO
//   (without the last byte), remove A B, python FILE env NAME=VALUE       sets a variable until the test
//   ends; unset NAME needs WHAT           skips the test otherwise: fixture NAME, python MODULES, command,
//   sandbox, sources, device,
//                        no device, kernels for it
//
// {fixtures} {source} {adapter} {pyfiles} {here} stand for folders, {python} for the interpreter of tests,
// {no_device} for why no GPU is here.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "kernels/adapter/case_file_test.hpp"
#include "kernels/device.hpp"
#include "kernels/isolation/isolated.hpp"
#include "kernels/python/python_test.hpp"
#include "kernels/registry.hpp"
#include "reference/files/npy.hpp"
#include "reports/cli/help/answer_test.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// What is at a path such as failures.0.key; the text "absent" if nothing is. # is a size.
json at_path(json at, const std::string& path) {
  for (const std::string& step : cases::parts_of(path, "."))
    if (step == "#")
      at = json(at.size());
    else if (at.is_array())
      at = std::stoul(step) < at.size() ? json(at[std::stoul(step)]) : json("absent");
    else
      at = at.is_object() && at.contains(step) ? json(at[step]) : json("absent");
  return at;
}
std::string text_of(const json& j) { return j.is_string() ? j.get<std::string>() : j.dump(); }

/// Why what WHAT says is not so of a value; empty if it is.
std::string differs(const json& whole, const std::string& what) {
  static const std::regex form("([^=!<>~]+)(=|!=|~|!~|<|>)(.*)");
  std::smatch m;
  if (!std::regex_match(what, m, form)) return what + ": is no condition";
  const std::string path = m[1], op = m[2];
  if (const std::size_t every = path.find(".*."); every != path.npos) {
    const json all = at_path(whole, path.substr(0, every));
    for (const json& one : all)
      if (std::string why = differs(one, what.substr(every + 3)); !why.empty()) return why;
    return all.is_array() && !all.empty() ? "" : what + ": there is none";
  }
  const json at = at_path(whole, path);
  const std::string is = text_of(at), value = m.str(3).starts_with('@')
                                                  ? text_of(at_path(whole, m.str(3).substr(1)))
                                                  : m.str(3);
  bool so = false;
  if (op == "<" || op == ">")
    so = at.is_number() &&
         (op == "<" ? at.get<double>() < std::stod(value) : at.get<double>() > std::stod(value));
  else
    so = (op.ends_with('~') ? cases::holds(is, value) : is == value) != op.starts_with('!');
  return so ? "" : what + ": is " + is;
}

class CallCase {
 public:
  CallCase() {
    fs::current_path(own_.path());
    here_ = fs::current_path().string();
  }
  void run(const cases::Case& one) {
    for (const cases::Line& l : one.lines) {
      const testing::ScopedTrace where(one.file.c_str(), l.number, l.mark + " " + l.text);
      take(l.mark, l.mark == "|" ? l.text : filled_in(l.text));
      if (testing::Test::IsSkipped()) return;
    }
    EXPECT_TRUE(called_ && has_status_) << one.name << ": the last call has no status, or there is none";
  }
  ~CallCase() {
    fs::current_path(before_);
    for (const auto& [name, value] : environment_)
      value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  CallCase(const CallCase&) = delete;
  CallCase& operator=(const CallCase&) = delete;

 private:
  std::string filled_in(std::string text) const {
    const std::string source = ASSAY_SOURCE_DIR;
    for (const auto& [name, value] : {std::pair<std::string, std::string>{"{fixtures}", ASSAY_FIXTURES},
                                      {"{source}", source},
                                      {"{adapter}", source + "/kernels/adapter/fixtures"},
                                      {"{here}", here_},
                                      {"{pyfiles}", source + "/kernels/python/fixtures"},
                                      {"{python}", test_python()},
                                      {"{no_device}", unavailable_reason(Backend::cuda)}})
      text = cases::replaced(text, name, value);
    return text;
  }
  void take(const std::string& mark, const std::string& text) {
    const std::set<std::string> quoted = {"$", "$$", "$answer", "records", "json"};
    const std::vector<std::string> words =
        quoted.contains(mark) ? cases::words_of(text) : command_test::words_of(text);
    if (mark == "$" || mark == "$$" || mark == "$answer")
      call(words, mark);
    else if (mark == "=>")
      status(text.substr(0, 1), text.substr(std::min<std::size_t>(2, text.size())));
    else if (mark == "needs")
      need(text);
    else if (mark == "env")
      set(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
    else if (mark == "unset")
      set(text, std::nullopt);
    else if (mark == "again")
      again(words.at(0), words.at(1));
    else if (!make(mark, text, words))
      look(mark, text, words);
  }
  void call(std::vector<std::string> words, const std::string& mark) {
    EXPECT_TRUE(has_status_) << "the call before has no status";
    called_ = true, has_status_ = false;
    out_at_ = err_at_ = 0;
    answers_ = mark == "$answer" ? words.at(0) : "";
    if (mark == "$answer") {
      words.insert(words.end(), {"--json", "--junit", "junit.xml"});
      if (!std::ranges::count(words, "--out")) words.insert(words.end(), {"--out", "out"});
    }
    if (mark == "$$") {
      const process_test::Finished f = process_test::run(words);
      last_ = {f.status, f.out, f.err};
    } else {
      last_ = command_test::call_words(words);
    }
  }
  void status(const std::string& mark, const std::string& text) {
    EXPECT_FALSE(has_status_) << "no call";
    has_status_ = true;
    const std::string both = last_.out + last_.err;
    EXPECT_EQ(std::to_string(last_.status), mark) << both;
    if (!answers_.empty())
      answer_test::expect_one_answer(answers_, last_.status, json::parse(last_.out), "junit.xml");
    if (text.empty() && mark != "2") return;
    EXPECT_EQ(std::count(last_.err.begin(), last_.err.end(), '\n'), 1) << last_.err;
    EXPECT_TRUE(cases::holds(last_.err.substr(0, last_.err.find('\n')), text)) << last_.err;
    EXPECT_EQ(mark == "2" ? last_.out : "", "");
  }
  /// The command of the folder's first record that did not pass, or of the first, makes this one record
  /// again.
  void again(const std::string& folder, const std::string& with) {
    const std::vector<std::string> all = lines_of(folder);
    const auto bad = std::ranges::find_if(
        all, [](const std::string& l) { return !l.empty() && json::parse(l).at("status") != "pass"; });
    const std::string record = without_run(bad == all.end() ? all.at(0) : *bad);
    std::vector<std::string> words = cases::words_of(json::parse(record).at("reproduce"));
    words.erase(words.begin());
    words.insert(words.end(), {"--out", folder + ".again"});
    call(words, "$");
    status(with, "");
    const std::vector<std::string> made = lines_of(folder + ".again");
    EXPECT_EQ(made.size(), 2u) << "one line, and what is behind its end";
    EXPECT_EQ(without_run(made[0]), record);
  }
  static std::vector<std::string> lines_of(const std::string& folder) {
    return cases::parts_of(read_file(fs::path(folder) / "records.jsonl"), "\n");
  }
  void need(const std::string& what) {
    const std::string kind = what.substr(0, what.find(' ')), name = what.substr(what.find(' ') + 1);
    const bool device = unavailable_reason(Backend::cuda).empty();
    const bool here = kind == "fixture"   ? fs::exists(std::string(ASSAY_FIXTURES) + "/" + name)
                      : kind == "python"  ? python_imports(name)
                      : kind == "command" ? process_test::has_command()
                      : kind == "kernels"
                          ? std::ranges::count(registry(), Backend::cuda, &Variant::backend) > 0
                      : kind == "sandbox" ? why_not_sandboxed().empty()
                      : kind == "sources" ? fs::exists(ASSAY_SOURCE_DIR "/README.md")
                                          : device == (kind == "device");
    if (!here) GTEST_SKIP() << "needs " << what;
  }
  void set(const std::string& name, const std::optional<std::string>& value) {
    const char* const was = std::getenv(name.c_str());
    environment_.emplace(name, was ? std::optional<std::string>(was) : std::nullopt);
    value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  }
  /// The text with \xNN replaced by the byte.
  static std::string with_bytes(std::string text) {
    for (std::size_t at = 0; (at = text.find("\\x", at)) != text.npos; ++at)
      text.replace(at, 4, 1, static_cast<char>(std::stoi(text.substr(at + 2, 2), nullptr, 16)));
    return text;
  }
  /// Makes what a call needs.
  bool make(const std::string& mark, const std::string& text, const std::vector<std::string>& words) {
    if (mark == "file" || mark == "append" || mark == "|") {
      if (mark != "|") file_ = words.at(0);
      if (const fs::path folder = fs::path(file_).parent_path(); !folder.empty())
        fs::create_directories(folder);
      const std::string line = mark == "|" ? text : text.substr(std::min(file_.size() + 1, text.size()));
      std::ofstream out(file_, mark == "file" ? std::ios::trunc : std::ios::app);
      if (mark == "|" || !line.empty()) out << with_bytes(line) << '\n';
    } else if (mark == "cut") {
      const std::string all = read_file(words.at(0));
      std::ofstream(words.at(1), std::ios::binary) << all.substr(0, all.size() - 1);
    } else if (mark == "npy") {
      std::int64_t rows = 0, V = 0;
      EXPECT_EQ(std::sscanf(words.at(2).c_str(), "%ldx%ld", &rows, &V), 2);
      write_npy(words[0], Tensor(*parse_dtype(words[1]), rows, V), Bf16::as_u2);
    } else if (mark == "copy") {
      fs::copy_file(words.at(0), words.at(1));
    } else if (mark == "move") {
      fs::rename(words.at(0), words.at(1));
    } else if (mark == "link") {
      fs::create_directory_symlink(words.at(0), words.at(1));
    } else if (mark == "folder" || mark == "remove") {
      for (const std::string& w : words)
        if (mark == "folder")
          fs::create_directories(w);
        else
          fs::remove_all(w);
    } else if (mark == "python") {
      EXPECT_EQ(std::system((test_python() + " " + text).c_str()), 0);
    } else {
      return false;
    }
    return true;
  }
  /// Looks at what a call left.
  void look(const std::string& mark, const std::string& text, const std::vector<std::string>& words) {
    EXPECT_TRUE(has_status_) << "a call has its status first";
    if (mark == ">" || mark == "2>") {
      find_line(mark == ">" ? last_.out : last_.err, text, mark == ">" ? out_at_ : err_at_);
    } else if (mark == "first") {
      EXPECT_TRUE(cases::holds(last_.out.substr(0, last_.out.find('\n')), text)) << last_.out;
    } else if (mark == ">!" || mark == "2>!") {
      no_line(mark == ">!" ? last_.out : last_.err, text);
    } else if (mark == "in" || mark == "in!") {
      const std::string all = read_file(words.at(0)), rest = text.substr(words[0].size() + 1);
      std::size_t from = 0;
      mark == "in" ? find_line(all, rest, from) : no_line(all, rest);
    } else if (mark == "there" || mark == "gone") {
      for (const std::string& w : words) EXPECT_EQ(fs::exists(w), mark == "there") << w;
    } else if (mark == "same") {
      EXPECT_EQ(sorted(words.at(0)), sorted(words.at(1)));
      EXPECT_GT(sorted(words[0]).size(), 1u);
    } else if (mark == "json") {
      const json j = json::parse(words.at(0) == "-" ? last_.out : read_file(words[0]), nullptr, false);
      for (std::size_t i = 1; i < words.size(); ++i) EXPECT_EQ(differs(j, words[i]), "");
      EXPECT_GT(words.size(), 1u);
    } else if (mark == "records") {
      json found = 0;
      std::string why;
      std::istringstream in(read_file(fs::path(words.at(0)) / "records.jsonl"));
      for (std::string line; std::getline(in, line);) {
        const json record = json::parse(line);
        std::string first;
        for (std::size_t i = 2; i < words.size() && first.empty(); ++i) first = differs(record, words[i]);
        found = found.get<int>() + first.empty();
        if (!first.empty()) why = first + "\n" + line;
      }
      const std::string count = words.at(1);
      EXPECT_EQ(differs({{"found", found}}, "found" + (count[0] == '>' ? count : "=" + count)), "") << why;
    } else {
      ADD_FAILURE() << "no such mark";
    }
  }
  /// The lines of a file in the order of the alphabet, without what the first says of the run.
  static std::vector<std::string> sorted(const std::string& file) {
    std::vector<std::string> all = cases::parts_of(read_file(file), "\n");
    for (std::string& line : all)
      if (line.starts_with('{')) line = without_run(line);
    std::ranges::sort(all);
    return all;
  }
  static void find_line(const std::string& all, const std::string& text, std::size_t& from) {
    for (std::size_t at = from, end; at < all.size(); at = end + 1) {
      end = std::min(all.find('\n', at), all.size());
      if (!cases::holds(std::string_view(all).substr(at, end - at), text)) continue;
      from = at;
      return;
    }
    ADD_FAILURE() << "is in no line of\n" << all.substr(from);
  }
  static void no_line(const std::string& all, const std::string& text) {
    for (const std::string& line : cases::parts_of(all, "\n"))
      EXPECT_FALSE(cases::holds(line, text)) << line << "\nin\n" << all;
  }

  const fs::path before_ = fs::current_path();
  TestFolder own_;
  std::string here_, file_, answers_;
  command_test::Outcome last_{};
  bool called_ = false, has_status_ = true;
  std::size_t out_at_ = 0, err_at_ = 0;
  std::map<std::string, std::optional<std::string>> environment_;
};

void run_calls(const cases::Case& c) { CallCase().run(c); }
const bool kRegistered = cases::register_cases(".calls", run_calls);

TEST(CallCases, EveryMarkCanFail) {
  const std::string list = "$ list --ops\n=> 0\n", grade = "$ grade none\n=> 2 no such folder\n",
                    report = "$ report --key safe_block/f32@host --family normal_1 --V 33 --out o\n=> 0\n",
                    slurm = "env SLURM_PROCID=0\nenv SLURM_STEP_ID=0\nenv SLURM_STEP_NUM_TASKS=4\n",
                    check = "$ check safe_block/f32@host --quick --only batch --V 33 --out o --json\n=> 0\n";
  for (const auto& [right, wrong] : {
           std::pair<std::string, std::string>{list, "$ list --ops\n=> 1\n"},
           {list, "$ list --ops\n"},
           {list, "$ list --ops\n=> 0 a line\n"},
           {list, "=> 0\n"},
           {list, list + "=> 0\n"},
           {list, ""},
           {list, list + "nosuchmark\n"},
           {list, "> softmax\n"},
           {list, "$ list --ops\n> softmax\n=> 0\n"},
           {list, "$ list --ops\n$ list --ops\n=> 0\n"},
           {grade, "$ grade none\n=> 2 no such thing\n"},
           {grade, "$ grade none\n=> 2 ^no such folder\n"},
           {grade + "2> ^assay: none: \n", grade + "2> ^none\n"},
           {grade, grade + "2>! none\n"},
           {list + "> topk_softmax\n", list + "> topk_softmaxx\n"},
           {list + "> log_softmax\n> lse\n", list + "> lse\n> log_softmax \n"},
           {list + ">! sorftmax\n", list + ">! lse\n"},
           {grade + "2>! sorftmax\n", grade + "2>! folder\n"},
           {list + "first ^op \n", list + "first lse\n"},
           {list + "gone x\n", list + "there x\n"},
           {"folder x/y\n" + list + "there x/y\n", "folder x/y\nremove x\n" + list + "there x/y\n"},
           {"file x one\n| two\n" + list + "in x ^two$\n", "file x one\n| two\n" + list + "in x ^on$\n"},
           {"file x one\n" + list + "in! x two\n", "file x two\n" + list + "in! x two\n"},
           {slurm + report + "there o/shard-0-of-4\n", report + "there o/shard-0-of-4\n"},
           {slurm + "unset SLURM_STEP_NUM_TASKS\n" + report + "gone o/shard-0-of-4\n",
            slurm + report + "gone o/shard-0-of-4\n"},
           {"npy x.npy f32 2x33\n$ grade --logits x.npy --probs x.npy\n=> 1\n",
            "$ grade --logits x.npy --probs x.npy\n=> 1\n"},
           {check + "json - verdict=PASS counts.failed=0 kernels.*.key~safe failures.#=0 part=absent\n",
            check + "json - counts.failed>0\n"},
           {check + "json - counts.planned=@counts.passed\n",
            check + "json - counts.planned=@counts.failed\n"},
           {check, check + "json - kernels.0.key!~safe\n"},
           {check, check + "json - kernels.*.passed<1\n"},
           {check, check + "json - failures.*.key=x\n"},
           {check, check + "json - failures\n"},
           {check, check + "json o/none verdict=PASS\n"},
           {check + "records o 4 group=batch\nrecords o 0 status!=pass\n",
            check + "records o 0 group=batch\n"},
           {check, check + "records o >0 group=shapes\n"},
           {check + "again o 0\n", check + "again o 1\n"},
           {"file a x\n| y\nfile b y\n| x\n" + list + "same a b\n",
            "file a x\nfile b y\n" + list + "same a b\n"},
           {list, "folder a b\nfile a/x\nfile b/x\n" + list + "same a/x b/x\n"},
           {check, check + "again none 0\n"},
           {check, check + "records o >100000\n"},
           {"each X --ops | --families\n$ list {X}\n=> 0\n", "each X --ops | --nosuch\n$ list {X}\n=> 0\n"},
       }) {
    EXPECT_TRUE(cases::passes(run_calls, right)) << right;
    EXPECT_FALSE(cases::passes(run_calls, wrong)) << wrong;
  }
}

}  // namespace
}  // namespace assay
