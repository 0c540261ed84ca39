# SPDX-License-Identifier: Apache-2.0
"""Whether this process may be forked. Its answer is empty, or says why not. `frameworks` are modules and files: these are
imported first, if they would be found in these files."""
import importlib
import importlib.util
import os
import sys
import types
import warnings

SOCKET = 3  # the supervisor's; an import has opened the descriptors above it
# Frameworks that tell their users not to fork a process that has imported them.
NEVER = ("jax", "tensorflow")


def threads():
    return len(os.listdir("/proc/self/task"))


def fork_quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def keeps_threads():
    """True if a fork would lose threads. A library that supports forks ends its threads before each fork, as OpenBLAS
    does. So this function forks once, a process that ends at once, and then counts the threads."""
    if threads() == 1:
        return False
    pid = fork_quietly()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return threads() > 1


def keeps_processes():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    except ChildProcessError:
        return False


def open_file():
    """The name of a file that the import left open, or "". Workers must not share a device with its driver's state, a
    pipe, or the position in a file."""
    for number in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue  # the descriptor of the listing itself
        if int(number) > SOCKET and name not in ("/dev/null", "/dev/urandom", "/dev/random"):
            return name
    return ""


def shares_memory():
    """True if workers would write into the same memory."""
    with open("/proc/self/maps") as maps:
        return any(line.split(maxsplit=2)[1].startswith("rw-s") for line in maps)


def is_compiled(value):
    """True for a function or a module that torch.compile has compiled."""
    if isinstance(value, types.FunctionType):
        return "_torchdynamo_orig_callable" in vars(value)
    return type(value).__name__ == "OptimizedModule"


def compiles_for_a_gpu():
    if not os.path.exists("/dev/nvidiactl"):
        return False
    own = [m for name, m in list(sys.modules.items()) if m and name.split(".")[0] not in ("torch", "triton")]
    return any(is_compiled(value) for m in own for value in list(getattr(m, "__dict__", {}).values()))


def declines():
    """Why this process must not be forked, or "" if it may."""
    known = [name for name in NEVER if name in sys.modules]
    if known:
        return f"{known[0]} can not be forked"
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        return "importing it initialises CUDA"
    # Forked workers that compiled for a GPU did not end in the test PythonDevice.TorchWorksOnTheStreamOfTheCall.
    if compiles_for_a_gpu():
        return "torch.compile for a GPU is not known to work in a fork"
    if left := open_file():
        return f"importing it leaves {left} open"
    if shares_memory():
        return "importing it makes memory that processes share"
    if keeps_processes():
        return "importing it starts processes"
    if keeps_threads():
        return "importing it starts threads"
    return ""


def why_not():
    try:
        for name, file in frameworks:
            # If the target changes the path, another module of that name may be found.
            spec = importlib.util.find_spec(name)
            if spec and spec.origin == file:
                importlib.import_module(name)
        return declines()
    except BaseException as error:
        return f"it could not be seen whether it may be forked: {type(error).__name__}"


answer = why_not()
