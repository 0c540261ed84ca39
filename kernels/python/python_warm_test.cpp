// SPDX-License-Identifier: Apache-2.0
// The process that forks the workers of a callable: what it saves, what it must not change, and where it is
// not used.
#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "kernels/isolation/isolation_test.hpp"
#include "kernels/isolation/process/sandbox.hpp"
#include "kernels/python/python_test.hpp"
#include "reference/error.hpp"
#include "reference/test_folder.hpp"

namespace assay {
namespace {

/// An interpreter that writes a line each time it is started.
class Counted {
 public:
  Counted() {
    std::ofstream(path()) << "#!/bin/sh\necho >> '" << (folder_.path() / "starts").string() << "'\nexec "
                          << test_python() << " \"$@\"\n";
    std::filesystem::permissions(path(), std::filesystem::perms::owner_all);
  }
  std::string path() const { return folder_.path() / "python"; }
  std::filesystem::path folder() const { return folder_.path(); }
  int starts() const {
    std::ifstream file(folder_.path() / "starts");
    int n = 0;
    for (std::string line; std::getline(file, line);) ++n;
    return n;
  }

 private:
  const TestFolder folder_;
};

/// Without a sandbox: there the interpreter could not write its line, and its process ids are not those of
/// this test.
constexpr bool kSandbox = false;

Variant state(const Counted& python, const std::string& function, IsolationOptions options = {}) {
  options.sandbox = kSandbox;
  PythonCallable c = callable("states.py", function);
  c.interpreter = python.path();
  return load_python(c, options).at(0);
}

/// The fault of a launch of that many rows.
std::string said(const Variant& v, std::int64_t rows = 3) {
  isolation::Trial t(rows, 9);
  return t.run(v).fault;
}

/// A worker, and the process that forked it.
struct WarmPair {
  pid_t worker = 0, parent = 0;
};
WarmPair processes_of(const Variant& v) {
  const std::string text = said(v), head = "threw an exception: ValueError: ";
  EXPECT_TRUE(text.starts_with(head)) << text;
  WarmPair p;
  std::istringstream(text.substr(std::min(head.size(), text.size()))) >> p.worker >> p.parent;
  return p;
}
/// True if the process does not even exist as a zombie.
bool gone(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

TEST(PythonWarm, AWorkerMoreIsAFork) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Counted python;
  const Variant v = state(python, "counts"), again = state(python, "counts");
  for (int n = 0; n < 3; ++n) {
    v.launcher->restart();
    EXPECT_EQ(said(v), "threw an exception: ValueError: call 1");
    EXPECT_EQ(said(v), "threw an exception: ValueError: call 2");
  }
  EXPECT_EQ(said(again), "threw an exception: ValueError: call 1");
  EXPECT_EQ(python.starts(), 1);
  EXPECT_EQ(v.file.find("a new interpreter"), std::string::npos) << v.file;
}

TEST(PythonWarm, NothingIsLeftOfAWorkerThatCrashed) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Counted python;
  const Variant v = state(python, "counts");
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(said(v), "threw an exception: ValueError: call 1");
    EXPECT_EQ(said(v), "threw an exception: ValueError: call 2");
    EXPECT_EQ(said(v, 5), "segmentation fault: a write at address 0x10, near a null pointer");
  }
  EXPECT_EQ(python.starts(), 1);
}

TEST(PythonWarm, AHungWorkerIsEndedAlone) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Counted python;
  const Variant v = state(python, "hangs", {.timeout_seconds = 0.1});
  const Variant beside = state(python, "hangs");
  isolation::Trial before(2, 9), hung(5, 9), after(2, 9), next(2, 9);
  EXPECT_EQ(before.run(beside).fault, "");
  EXPECT_EQ(hung.run(v).ended, Ended::hung);
  EXPECT_EQ(after.run(beside).fault, "");
  EXPECT_EQ(next.run(v).fault, "");
  EXPECT_TRUE(after.right());
  EXPECT_TRUE(next.right());
  EXPECT_EQ(python.starts(), 1);
}

TEST(PythonWarm, NoProcessIsLeft) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Counted python;
  WarmPair first, second;
  {
    const Variant v = state(python, "processes");
    first = processes_of(v);
    EXPECT_NE(first.parent, getpid());
    EXPECT_FALSE(gone(first.worker));
    v.launcher->restart();
    EXPECT_TRUE(gone(first.worker));
    second = processes_of(v);
    EXPECT_NE(second.worker, first.worker);
    EXPECT_EQ(second.parent, first.parent);
  }
  EXPECT_TRUE(gone(second.worker));
  EXPECT_TRUE(gone(second.parent));
}

TEST(PythonWarm, WithoutItWorkersAreStartedOneByOne) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Counted python;
  const Variant v = state(python, "ends_its_parent");
  isolation::Trial t(3, 33), again(3, 33);
  EXPECT_EQ(t.run(v).fault, "");
  EXPECT_TRUE(t.right());
  v.launcher->restart();
  EXPECT_EQ(again.run(v).fault, "");
  EXPECT_TRUE(again.right());
  EXPECT_EQ(python.starts(), 3);
}

TEST(PythonWarm, AnImportThatMustNotBeForkedIsRepeatedInEachFork) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const struct {
    const char *import, *why;
  } all[] = {
      {"import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
       "importing it starts threads"},
      {"import subprocess\nkept = subprocess.Popen(['sleep', '60'])", "importing it starts processes"},
      {"kept = open('/dev/zero')", "importing it leaves /dev/zero open"},
      {"import mmap\nkept = mmap.mmap(-1, 4096)", "importing it makes memory that processes share"},
      {"import sys, types\ncuda = types.SimpleNamespace(is_initialized=lambda: True)\n"
       "sys.modules['torch'] = types.SimpleNamespace(cuda=cuda)",
       "importing it initialises CUDA"},
      {"import sys, types\nsys.modules['jax'] = types.SimpleNamespace()", "jax can not be forked"},
  };
  for (const auto& one : all) {
    const Counted python;
    const std::string path = python.folder() / "target.py";
    std::ofstream(path) << one.import << "\nASSAY_TENSORS = 'dlpack'\ncalls = 0\ndef f(x, out):\n"
                        << "    global calls\n    calls += 1\n    raise ValueError(f'call {calls}')\n";
    PythonCallable c = callable("target.py", "f");
    c.place = path;
    c.interpreter = python.path();
    const Variant v = load_python(c, {.sandbox = kSandbox}).at(0);
    EXPECT_TRUE(v.file.ends_with(std::string("; each worker imports it: ") + one.why + ")")) << v.file;
    EXPECT_EQ(said(v), "threw an exception: ValueError: call 1") << one.why;
    v.launcher->restart();
    EXPECT_EQ(said(v), "threw an exception: ValueError: call 1") << one.why;
    EXPECT_EQ(python.starts(), 1) << one.why;
  }
}

// The framework is the expensive part. It is imported once; each worker imports what must not be forked.
TEST(PythonWarm, AFrameworkIsImportedOnceEvenSo) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const Counted python;
  // Modules that replace numpy and record who imported them.
  for (const char* const folder : {"installed", "own"}) {
    std::filesystem::create_directory(python.folder() / folder);
    std::ofstream(python.folder() / folder / "numpy.py") << "import os\nimporter = os.getpid()\n";
  }
  std::ofstream(python.folder() / "installed" / "helper.py") << "import numpy\n";
  setenv("PYTHONPATH", (python.folder() / "installed").c_str(), 1);
  const struct {
    const char *file, *head, *imported_by_the_worker;
  } all[] = {
      {"first.py", "'''It says what it is.'''\nimport os, numpy\n", "False"},
      {"through.py", "import helper\nimport os, numpy\n", "False"},
      {"other.py", "import os, sys\nsys.path.insert(0, os.path.dirname(__file__) + '/own')\nimport numpy\n",
       "True"},
  };
  for (const auto& one : all) {
    PythonCallable c = callable(one.file, "f");
    c.place = python.folder() / one.file;
    c.interpreter = python.path();
    std::ofstream(c.place) << one.head << "kept = open('/dev/zero')\nASSAY_TENSORS = 'dlpack'\n"
                           << "def f(x, out):\n    raise ValueError(numpy.importer == os.getpid())\n";
    const int before = python.starts();
    EXPECT_EQ(said(load_python(c, {.sandbox = kSandbox}).at(0)),
              std::string("threw an exception: ValueError: ") + one.imported_by_the_worker)
        << one.head;
    EXPECT_EQ(python.starts(), before + 1);
  }
  unsetenv("PYTHONPATH");
}

// OpenBLAS has threads from its import on, and ends them before a fork.
TEST(PythonWarm, NumpyAndTorchAreForked) {
  const Counted python;
  for (const char* const module : {"numpy", "torch"}) {
    if (!python_imports(module)) continue;
    PythonCallable c = callable(std::string(module) + "_rows.py", "into");
    c.interpreter = python.path();
    c.host = true;
    const int before = python.starts();
    const Variant v = load_python(c, {.sandbox = kSandbox}).at(0);
    for (int n = 0; n < 2; ++n) {
      v.launcher->restart();
      isolation::Trial t(3, 33);
      EXPECT_EQ(t.run(v).fault, "") << module;
      EXPECT_TRUE(t.right()) << module;
    }
    EXPECT_EQ(python.starts(), before + 1) << v.file;
  }
}

TEST(PythonWarm, AnImportThatEndsItsProcessIsACrash) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const TestFolder folder;
  PythonCallable c = callable("target.py", "f");
  c.place = folder.path() / "target.py";
  std::ofstream(c.place) << "import os\nos._exit(3)\n";
  try {
    load_python(c, {.sandbox = kSandbox});
    FAIL() << "it was loaded";
  } catch (const InputError& e) {
    EXPECT_STREQ(e.what(), "target.py:f: crashed while it was loaded: exited with status 3");
  }
}

TEST(PythonWarm, FewWorkersShareAGpu) {
  ASSAY_NEEDS_PYTHON("ctypes");
  const auto most = [](const char* file) {
    return load_python(callable(file, "right")).at(0).launcher->most_workers();
  };
  EXPECT_EQ(most("raw_rows.py"), 0);
  EXPECT_GT(most("device_rows.py"), 0);
}

/// Workers of one kernel find what another has compiled. Those of another kernel find neither that nor them.
TEST(PythonWarm, TwoKernelsShareNoSandbox) {
  ASSAY_NEEDS_PYTHON("ctypes");
  if (const std::string why = why_not_sandboxed(); !why.empty()) GTEST_SKIP() << why;
  const TestFolder folder;
  std::vector<Variant> all;
  for (const char* const file : {"one.py", "other.py"}) {
    PythonCallable c = callable(file, "f");
    c.place = folder.path() / file;
    std::ofstream(c.place)
        << "import os\nASSAY_TENSORS = 'dlpack'\n"
           "def f(x, out):\n"
           "    at, place = os.environ['TRITON_CACHE_DIR'], os.readlink('/proc/self/ns/mnt')\n"
           "    seen = os.listdir(at)\n"
           "    open(at + '/compiled', 'w').close()\n"
           "    raise ValueError(f'{place} {seen}')\n";
    all.push_back(load_python(c).at(0));
  }
  const std::string first = said(all[0]), other = said(all[1]);
  EXPECT_TRUE(first.ends_with("] []")) << first;
  EXPECT_TRUE(other.ends_with("] []")) << other;
  EXPECT_NE(first, other);
  all[0].launcher->restart();
  const std::string again = said(all[0]);
  EXPECT_EQ(again, first.substr(0, first.size() - 2) + "['compiled']");
}

/// What the process that forks calls its workers is a name of the sandbox.
void expect_it_forks() {
  const std::string why = why_not_sandboxed();
  if (!why.empty()) std::printf("it forks without a sandbox: %s\n", why.c_str());
  const Variant v = load_python(callable("states.py", "counts")).at(0);
  EXPECT_EQ(v.launcher->guard() != Guard::none, why.empty());
  EXPECT_EQ(v.file.find("a new interpreter"), std::string::npos) << v.file;
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(said(v), "threw an exception: ValueError: call 1");
    EXPECT_EQ(said(v), "threw an exception: ValueError: call 2");
    EXPECT_EQ(said(v, 5), "segmentation fault: a write at address 0x10, near a null pointer");
  }
}

TEST(PythonWarm, ItForksInASandboxToo) {
  ASSAY_NEEDS_PYTHON("ctypes");
  expect_it_forks();
}

/// Under Landlock, too. What it compiles goes to a folder of its kernel, and files to one of its own.
TEST(PythonWarm, ItForksWithoutBubblewrapToo) {
  ASSAY_NEEDS_PYTHON("ctypes");
  if (isolation::widest_reach() == isolation::Reach::device)
    GTEST_SKIP() << "on a machine with a GPU each worker has an interpreter of its own there";
  isolation::missing().bubblewrap = true;
  expect_it_forks();
  const TestFolder folder;
  PythonCallable c = callable("writes.py", "f");
  c.place = folder.path() / "writes.py";
  std::ofstream(c.place)
      << "import os, tempfile\nASSAY_TENSORS = 'dlpack'\n"
         "def tried(place):\n"
         "    try: open(place + '/compiled', 'w').close(); return 'yes'\n"
         "    except OSError as error: return error.strerror\n"
         "def f(x, out):\n"
         "    own = [tried(os.environ['TRITON_CACHE_DIR']), tried(tempfile.gettempdir())]\n"
         "    raise ValueError(own + [tried(os.path.dirname(__file__))])\n";
  const Variant v = load_python(c).at(0);
  if (v.launcher->guard() == Guard::landlock) {
    EXPECT_EQ(said(v), "threw an exception: ValueError: ['yes', 'yes', 'Permission denied']");
  }
  isolation::missing().bubblewrap = false;
}

}  // namespace
}  // namespace assay
