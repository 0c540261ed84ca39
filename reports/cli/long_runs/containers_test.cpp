// SPDX-License-Identifier: Apache-2.0
// Two containers that share a folder have processes of equal numbers: each is process 1 of its own. So the
// names of files that are being written must not be made of such numbers.
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "reference/paths.hpp"
#include "reports/cli/commands.hpp"
#include "reports/cli/long_runs/process_test.hpp"
#include "reports/records/record_lines.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
using namespace process_test;

/// The words that make a program process 1 of a namespace; empty if this machine lets nobody do that.
std::vector<std::string> as_process_1() {
  const TestFolder folder;
  const std::string out = (folder.path() / "out").string();
  for (std::vector<std::string> words :
       {std::vector<std::string>{"unshare", "--pid", "--fork", "--mount-proc"},
        std::vector<std::string>{"unshare", "--user", "--map-root-user", "--pid", "--fork",
                                 "--mount-proc"}}) {
    std::vector<std::string> ask = words;
    ask.insert(ask.end(), {"sh", "-c", "test $$ = 1"});
    if (wait_for(start(ask, {}, out, out)).status == 0) return words;
  }
  return {};
}

TEST(UniquePart, NoNameComesTwice) {
  std::set<std::string> names;
  for (int n = 0; n < 1000; ++n) {
    const std::string name = unique_part("folder/x.jsonl").string();
    EXPECT_TRUE(name.starts_with("folder/x.jsonl.") && name.ends_with(".part")) << name;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 1000u);
}

/// A forked process has all that its parent has: a name that is counted or drawn from a seed would come
/// twice.
TEST(UniquePart, AForkedProcessHasOtherNames) {
  (void)unique_part("x");
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string name = unique_part("x").string();
    _exit(write(ends[1], name.data(), name.size()) == static_cast<ssize_t>(name.size()) ? 0 : 1);
  }
  const std::string own = unique_part("x").string();
  close(ends[1]);
  std::string of_child(own.size(), '\0');
  EXPECT_EQ(read(ends[0], of_child.data(), of_child.size()), static_cast<ssize_t>(own.size()));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_NE(of_child, own);
}

class Containers : public command_test::FolderTest {
 protected:
  void SetUp() override {
    if (!has_command()) GTEST_SKIP() << "no " ASSAY_COMMAND;
    if (!fs::exists("/usr/bin/unshare") || (first_ = as_process_1()).empty())
      GTEST_SKIP() << "this machine makes no namespace of processes (unshare --pid)";
  }

  /// Runs the same command twice at a time, each as process 1, and returns what the two print.
  std::vector<std::string> twice(const std::vector<std::string>& command) const {
    std::vector<std::string> words = first_;
    words.push_back(ASSAY_COMMAND);
    words.insert(words.end(), command.begin(), command.end());
    const pid_t pids[] = {start(words, {}, at("out0"), at("err0")), start(words, {}, at("out1"), at("err1"))};
    std::vector<std::string> printed;
    for (int n = 0; n < 2; ++n) {
      EXPECT_EQ(wait_for(pids[n]).status, 0) << read_file(at("err" + std::to_string(n)));
      printed.push_back(read_file(at("out" + std::to_string(n))));
    }
    return printed;
  }
  /// The unfinished files below a folder.
  std::vector<std::string> parts(const std::string& folder) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().filename().string().find(".part") != std::string::npos)
        all.push_back(entry.path().string());
    return all;
  }
  std::vector<std::string> first_;
};

TEST_F(Containers, CompileIntoOneCache) {
  std::vector<std::string> words = {
      "adapter",
      std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/shuffle_rows.cu",
      "--host",
      "--entry",
      "void softmax_rows(float* out, const float* inp, int N, int C)",
      "--build-dir",
      at("cache")};
  const std::vector<std::string> printed = twice(words);
  EXPECT_EQ(printed[0], printed[1]);
  ASSERT_TRUE(printed[0].starts_with(at("cache"))) << printed[0];
  EXPECT_TRUE(fs::exists(printed[0].substr(0, printed[0].find('\n'))));
  EXPECT_EQ(parts(at("cache")), std::vector<std::string>());
  // The shared object of each may go to one place.
  words.insert(words.end(), {"--out", at("libsoftmax.so")});
  twice(words);
  EXPECT_EQ(read_file(at("libsoftmax.so")), read_file(printed[0].substr(0, printed[0].find('\n'))));
  EXPECT_EQ(parts(own_.path().string()), std::vector<std::string>());
}

TEST_F(Containers, CheckWithOneCache) {
  // Each writes to a folder of its own; the cache is the same.
  std::vector<std::string> words = first_;
  words.insert(
      words.end(),
      {ASSAY_COMMAND, "check", std::string(ASSAY_SOURCE_DIR) + "/kernels/adapter/fixtures/shuffle_rows.cu",
       "--host", "--entry", "void softmax_rows(float* out, const float* inp, int N, int C)", "--build-dir",
       at("cache"), "--only", "shapes", "--V", "33", "--rows", "3"});
  std::vector<pid_t> pids;
  for (const char* n : {"0", "1"}) {
    std::vector<std::string> mine = words;
    mine.insert(mine.end(), {"--out", at(std::string("check") + n)});
    pids.push_back(start(mine, {}, at(std::string("out") + n), at(std::string("err") + n)));
  }
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(wait_for(pids[static_cast<std::size_t>(n)]).status, 0)
        << read_file(at("err" + std::to_string(n)));
    const std::string said = read_file(at("out" + std::to_string(n)));
    EXPECT_NE(said.find("PASS softmax_rows/f32@plugin\n"), said.npos) << said;
  }
  EXPECT_EQ(parts(at("cache")), std::vector<std::string>());
}

// The recipes of reports/merge/recipes, run as a user runs them: on one host, with the launchers that are
// installed.

namespace fs = std::filesystem;
using process_test::Finished;

class Recipes : public command_test::FolderTest {
 protected:
  void SetUp() override {
    if (!process_test::has_command()) GTEST_SKIP() << "no " ASSAY_COMMAND;
  }
  static std::string recipe(const std::string& name) {
    return std::string(ASSAY_SOURCE_DIR) + "/reports/merge/recipes/" + name;
  }
  static bool installed(const std::string& program) {
    return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
  }
  /// The block of the container's only argument.
  static std::string pod_script() {
    const std::string manifest = read_file(recipe("kubernetes.yaml"));
    const std::size_t begin = manifest.find("            - |\n"), end = manifest.find("          env:\n");
    EXPECT_TRUE(begin != manifest.npos && end != manifest.npos);
    EXPECT_NE(manifest.find("completions: 4\n"), std::string::npos) << "as in the script's --shard";
    std::string script;
    std::istringstream block(manifest.substr(begin + 16, end - begin - 16));
    for (std::string line; std::getline(block, line);)
      script += line.substr(std::min<std::size_t>(14, line.size())) + "\n";
    return script;
  }
  /// A program `assay` that does this before it becomes the real one; $@ are its words.
  std::string wrapper(const std::string& before) const {
    fs::create_directories(at("bin"));
    const std::string path = at("bin/assay");
    std::ofstream(path) << "#!/bin/sh\n" << before << "\nexec " ASSAY_COMMAND " \"$@\"\n";
    chmod(path.c_str(), 0755);
    return path;
  }
  Finished run(const std::vector<std::string>& words, std::vector<std::string> settings) const {
    // As root, and with more ranks than cores.
    settings.insert(settings.end(), {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                     "OMPI_MCA_rmaps_base_oversubscribe=1", "OMP_NUM_THREADS=1"});
    Finished e = process_test::wait_for(process_test::start(words, settings, at("stdout"), at("stderr")));
    e.out = read_file(at("stdout"));
    e.err = read_file(at("stderr"));
    return e;
  }
};

const std::vector<std::string> kChecked = {"check",
                                           "online_warp/f16@host",
                                           "mutant.sum_skips_tail/f32@host",
                                           "safe_block/f32@host",
                                           "online_thread/f16@host",
                                           "--only",
                                           "shapes",
                                           "--V",
                                           "257",
                                           "--quick",
                                           "--threads",
                                           "1",
                                           "--seed",
                                           "1"};
std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(Recipes, OneRankOfMpirunThatFindsSomethingDoesNotEndTheOthers) {
  if (!installed("mpirun")) GTEST_SKIP() << "no mpirun (openmpi-bin)";
  const Finished all =
      run(std::vector<std::string>{recipe("mpirun.sh"), "4", at("out")} + kChecked, {"ASSAY=" ASSAY_COMMAND});
  EXPECT_EQ(all.status, kFailed) << all.out << all.err;
  EXPECT_NE(all.err.find("rank 1: status 1"), std::string::npos) << all.err;
  EXPECT_NE(all.out.find("FAIL: 4 shards of assay check: "), std::string::npos) << all.out;
  EXPECT_EQ(process_test::run(kChecked + std::vector<std::string>{"--out", at("whole")}).status, kFailed);
  EXPECT_EQ(records("out"), records("whole"));
}

TEST_F(Recipes, ARankOfMpirunThatDiesIsNamedAndRunAgainAlone) {
  if (!installed("mpirun")) GTEST_SKIP() << "no mpirun (openmpi-bin)";
  const std::string assay =
      wrapper("case \"$*\" in *'--shard 2/4'*) export ASSAY_TEST_END_AFTER='2 9';; esac");
  const std::vector<std::string> words = {
      "report", "--key", "online_warp/f16@host", "--family", "normal_1", "--rows", "1", "--threads", "1"};
  const Finished some =
      run(std::vector<std::string>{recipe("mpirun.sh"), "4", at("out")} + words, {"ASSAY=" + assay});
  EXPECT_EQ(some.status, kEnvironment) << some.out << some.err;
  EXPECT_NE(some.err.find("1 of 4 shards are not there"), std::string::npos) << some.err;
  EXPECT_NE(some.err.find("shard 2/4 did not end ("), std::string::npos) << some.err;
  // The others are finished, and the line says what to type.
  std::string again = some.err.substr(some.err.find("shard 2/4 did not end ("));
  again = again.substr(again.find("): assay ") + 9);
  again = again.substr(0, again.find('\n'));
  const Finished alone = process_test::run(command_test::words_of(again));
  EXPECT_EQ(alone.status, kPassed) << again << alone.err;
  EXPECT_NE(alone.err.find("going on with 2 finished"), std::string::npos) << alone.err;
  EXPECT_EQ(process_test::run({"merge", at("out"), "--out", at("out")}).status, kPassed);
  EXPECT_EQ(process_test::run(words + std::vector<std::string>{"--out", at("whole")}).status, kPassed);
  EXPECT_EQ(records("out"), records("whole"));
}

TEST_F(Recipes, ASlurmArray) {
  for (int task = 0; task < 4; ++task) {
    const Finished one =
        run(std::vector<std::string>{"sh", recipe("slurm.sbatch"), at("out")} + kChecked,
            {"ASSAY=" ASSAY_COMMAND, "SLURM_ARRAY_TASK_COUNT=4",
             "SLURM_ARRAY_TASK_ID=" + std::to_string(task), "SLURM_PROCID=0", "SLURM_NTASKS=1"});
    EXPECT_EQ(one.status, 0) << "task " << task << one.err;
  }
  EXPECT_EQ(process_test::run({"merge", at("out"), "--out", at("out")}).status, kFailed);
  EXPECT_EQ(process_test::run(kChecked + std::vector<std::string>{"--out", at("whole")}).status, kFailed);
  EXPECT_EQ(records("out"), records("whole"));
  // A task that could not do its part is a failed task.
  const Finished bad =
      run({"sh", recipe("slurm.sbatch"), at("out"), "check", "no_such/f32@host", "--seed", "1"},
          {"ASSAY=" ASSAY_COMMAND, "SLURM_ARRAY_TASK_COUNT=1", "SLURM_ARRAY_TASK_ID=0"});
  EXPECT_EQ(bad.status, kBadCall);
}

/// sbatch -n 8 sets the first two in the batch script, which runs once. srun sets all, in each task.
TEST_F(Recipes, OnlyAStepOfSlurmIsDivided) {
  const std::vector<std::string> words = {
      "report", "--key",  "online_warp/f16@host", "--family", "normal_1", "--rows", "1", "--threads", "1",
      "--out",  at("out")};
  std::vector<std::string> settings = {"SLURM_PROCID=0", "SLURM_NTASKS=8"};
  const Finished batch = process_test::run(words, settings);
  EXPECT_EQ(batch.status, kPassed) << batch.err;
  EXPECT_NE(batch.out.find("\nPASS: all planned cases ran"), std::string::npos) << batch.out;
  EXPECT_GT(records("out").size(), 8u);
  settings.insert(settings.end(), {"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=8"});
  const Finished step = process_test::run(words, settings);
  EXPECT_EQ(step.status, kPassed) << step.err;
  EXPECT_NE(step.out.find("part 0 of 8 of this run, taken from SLURM_PROCID and SLURM_STEP_NUM_TASKS; "),
            std::string::npos)
      << step.out;
  EXPECT_NE(step.out.find("\nPASS (part 0 of 8): all planned cases ran"), std::string::npos) << step.out;
  EXPECT_LT(records("out/shard-0-of-8").size(), records("out").size());
}

TEST_F(Recipes, ATaskWithLimitsThatNobodyDeclaredHasDoneItsPart) {
  std::ofstream(at("by_four.cpp")) << process_test::kByFour;
  const std::vector<std::string> check = {"check",  at("by_four.cpp"), "--entry", "by_four",
                                          "--host", "--quick",         "--seed",  "1"};
  const Finished task = run(std::vector<std::string>{"sh", recipe("slurm.sbatch"), at("slurm")} + check,
                            {"ASSAY=" ASSAY_COMMAND, "SLURM_ARRAY_TASK_COUNT=4", "SLURM_ARRAY_TASK_ID=0",
                             "SLURM_PROCID=0", "SLURM_NTASKS=1"});
  EXPECT_EQ(task.status, 0) << task.err;
  // The report of the pod is this check.
  wrapper("shift 3; set -- check '" + at("by_four.cpp") + "' --entry by_four --host --quick --seed 1 \"$@\"");
  const Finished pod = run({"sh", "-c", pod_script()}, {"PATH=" + at("bin") + ":" + std::getenv("PATH"),
                                                        "OUT=" + at("pods"), "JOB_COMPLETION_INDEX=0"});
  EXPECT_EQ(pod.status, 0) << pod.err;
  for (const Finished& one : {task, pod})
    EXPECT_NE(one.out.find("adopt with: --declare 'V_multiple=4'"), std::string::npos) << one.out;
}

TEST_F(Recipes, AKubernetesIndexedJob) {
  const std::string script = pod_script();
  // The report of the manifest takes minutes: here it is one case of a few keys.
  wrapper(
      "test \"$3\" = '*@host' || exit 2; shift 3\n"
      "set -- report --key 'online_*@host' \"$@\" --family normal_1 --V 33 --rows 1 --threads 1");
  const std::string path = "PATH=" + at("bin") + ":" + std::getenv("PATH");
  for (int index = 0; index < 4; ++index) {
    const Finished pod = run({"sh", "-c", script},
                             {path, "OUT=" + at("out"), "JOB_COMPLETION_INDEX=" + std::to_string(index)});
    EXPECT_EQ(pod.status, 0) << "index " << index << pod.err;
  }
  const Finished merged = process_test::run({"merge", at("out"), "--out", at("out")});
  EXPECT_EQ(merged.status, kPassed) << merged.out << merged.err;
  EXPECT_GE(records("out").size(), 8u);
  // The Job ends at a pod with status 2: so a bad call must come through as 2. Kubernetes takes such a policy
  // only of pods that are not restarted in place.
  wrapper("set -- report --key no_such/f32@host");
  EXPECT_EQ(run({"sh", "-c", script}, {path, "OUT=" + at("bad"), "JOB_COMPLETION_INDEX=0"}).status, kBadCall);
  const std::string manifest = read_file(recipe("kubernetes.yaml"));
  EXPECT_NE(manifest.find("- action: FailJob"), std::string::npos);
  EXPECT_NE(manifest.find("values: [" + std::to_string(kBadCall) + "]\n"), std::string::npos);
  EXPECT_NE(manifest.find("restartPolicy: Never"), std::string::npos);
}

/// The commands that make the image are those of the recipe for GitHub, which are tried in a bare Debian.
TEST_F(Recipes, TheImageIsMadeAsTheRecipeForGitHubMakesThePackage) {
  const std::string cpu = read_file(std::string(ASSAY_SOURCE_DIR) + "/cmake/ci/github/cpu.yml");
  std::istringstream image(read_file(recipe("Dockerfile")));
  int commands = 0;
  for (std::string line; std::getline(image, line);) {
    if (!line.starts_with("RUN ")) continue;
    std::string rest = line.substr(4);
    for (std::size_t end; !rest.empty(); rest = end == rest.npos ? "" : rest.substr(end + 4)) {
      end = rest.find(" && ");
      const std::string command = rest.substr(0, end);
      if (command.starts_with("rm -rf ")) continue;
      ++commands;
      // There the package lies in the project.
      std::string there = command;
      if (const std::size_t at = there.find(" /assay.deb"); at != there.npos)
        there.replace(at, 11, there.starts_with("cp ") ? " assay.deb" : " ./assay.deb");
      EXPECT_NE(cpu.find("\n          " + there + "\n"), std::string::npos) << command;
    }
  }
  EXPECT_EQ(commands, 9);
}

TEST_F(Recipes, TheManifestForKubernetesIsValidByItsSchema) {
  // ./run test --all puts the program into the build folder.
  const fs::path own = fs::path(ASSAY_COMMAND).parent_path().parent_path() / "python/bin/kubernetes-validate";
  const std::string program = fs::exists(own) ? own.string() : "kubernetes-validate";
  if (!installed(program)) GTEST_SKIP() << "no kubernetes-validate (pip install kubernetes-validate)";
  const Finished right = run({program, "--strict", recipe("kubernetes.yaml")}, {});
  EXPECT_EQ(right.status, 0) << right.out << right.err;
  // A manifest with a word that Kubernetes does not know is refused.
  std::string wrong = read_file(recipe("kubernetes.yaml"));
  wrong.replace(wrong.find("completionMode"), 14, "completionMood");
  std::ofstream(at("wrong.yaml")) << wrong;
  EXPECT_EQ(run({program, "--strict", at("wrong.yaml")}, {}).status, 1);
}

TEST_F(Recipes, GnuParallel) {
  if (!installed("parallel")) GTEST_SKIP() << "no GNU parallel";
  const Finished all = run(std::vector<std::string>{recipe("parallel.sh"), "3", at("out")} + kChecked,
                           {"ASSAY=" ASSAY_COMMAND, "PARALLEL_FLAGS=--jobs 2"});
  EXPECT_EQ(all.status, kFailed) << all.out << all.err;
  EXPECT_EQ(process_test::run(kChecked + std::vector<std::string>{"--out", at("whole")}).status, kFailed);
  EXPECT_EQ(records("out"), records("whole"));
}

}  // namespace
}  // namespace assay
