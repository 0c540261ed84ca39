"""A process that forks the workers: each begins where its imports ended.

It imports the target as well, if a process that has done so may be forked. If not, it imports the frameworks that the
target uses (torch alone takes seconds), and each worker imports the target."""
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import sys
import types
import warnings

import assay_abi as abi
import assay_target

# Frameworks that say themselves that a process which has imported them must not fork.
NEVER = ("jax", "tensorflow")


def threads():
    return len(os.listdir("/proc/self/task"))


def fork_quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def keeps_threads():
    """True if threads are left that a fork would cut off. A library that can be forked ends its own when a
    fork is announced, as OpenBLAS does: so one is made, of a process that ends at once."""
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
    """What the import left open: a device with its driver's state, a pipe, a file with one position for all.
    Empty: nothing."""
    for number in os.listdir("/proc/self/fd"):
        try:
            name = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue  # of the listing itself
        if int(number) > abi.SOCKET and name not in ("/dev/null", "/dev/urandom", "/dev/random"):
            return name
    return ""


def shares_memory():
    """True if workers would write into the same memory."""
    with open("/proc/self/maps") as maps:
        return any(line.split(maxsplit=2)[1].startswith("rw-s") for line in maps)


def is_compiled(value):
    """What torch.compile makes of a function, or of a module."""
    if isinstance(value, types.FunctionType):
        return "_torchdynamo_orig_callable" in vars(value)
    return type(value).__name__ == "OptimizedModule"


def compiles_for_a_gpu():
    if not os.path.exists("/dev/nvidiactl"):
        return False
    own = [m for name, m in list(sys.modules.items()) if m and name.split(".")[0] not in ("torch", "triton")]
    return any(is_compiled(value) for m in own for value in list(getattr(m, "__dict__", {}).values()))


def declines():
    """Why this process must not be forked; empty: it may."""
    known = [name for name in NEVER if name in sys.modules]
    if known:
        return f"{known[0]} can not be forked"
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_initialized():
        return "importing it initialises CUDA"
    # Forked workers that compile for a GPU were not seen to end: PythonDevice.TorchWorksOnTheStreamOfTheCall.
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
        return declines()
    except BaseException as error:
        return f"it could not be seen whether it may be forked: {type(error).__name__}"


def look_at_import(target):
    """Imports the target in a process of its own. Returns (why that process must not be forked, {framework: its
    file}). So this process stays one that may be forked, whatever the import does."""
    receiver, sender = os.pipe()
    pid = fork_quietly()
    if pid == 0:
        os.close(receiver)
        target()
        # Do this before looking at the open files.
        number = os.dup2(sender, abi.SOCKET, inheritable=False)
        os.close(sender)
        files = {n: getattr(sys.modules.get(n), "__file__", None) for n in assay_target.FORKABLE}
        os.write(number, json.dumps([why_not(), {n: f for n, f in files.items() if f}]).encode() + b"\n")
        os._exit(0)
    os.close(sender)
    with open(receiver, "rb") as answer:
        said = answer.readline()
    os.waitpid(pid, 0)
    return json.loads(said) if said else ("the process that imports it ends", {})


def prepare(words, target):
    """Loads what workers can be forked with. Returns (why this process must not be forked, why each worker has to
    import the target itself, or what `target` returned)."""
    for name in assay_target.first_imports(words[0], words[1]):
        importlib.import_module(name)
    if why := why_not():
        return why, "", None
    repeats, frameworks = look_at_import(target)
    if not repeats:
        return "", "", target()
    for name, file in frameworks.items():
        # If the target changes the path, another module of that name may be found.
        spec = importlib.util.find_spec(name)
        if spec and spec.origin == file:
            importlib.import_module(name)
    return why_not(), repeats, None


def fork_workers(library, why, repeats):
    """Returns in each worker, and in nobody else."""
    if not library.assay_python_warm(why.encode(errors="replace"), repeats.encode(errors="replace")):
        os._exit(0)
    # Otherwise the garbage collector would touch, and so copy, the memory that all workers share.
    gc.freeze()
    wanted = abi.Wanted()
    while library.assay_python_wanted(ctypes.byref(wanted)):
        error = 0
        try:
            pid = os.fork()
        except OSError as failure:
            pid, error = -1, failure.errno
        if pid == 0:
            library.assay_python_become_worker(ctypes.byref(wanted))
            return
        if not library.assay_python_forked(ctypes.byref(wanted), pid, error):
            break
    os._exit(0)
