# SPDX-License-Identifier: Apache-2.0
"""Functions of libraries that are timed where they are installed, and of a user's own file.

`--library NAME=FILE.py` takes the function NAME of a file instead of an installed package. Example: a library
that was compiled ahead, or a kernel of your own. A softmax takes a tensor (rows, V) and returns its softmax. A top-k
takes (x, k) and returns (values, indices) in any order.
"""
import importlib.util
import multiprocessing
import os
import time


class NotHere(Exception):
    """The library is not installed, or has no kernel for this dtype or V."""


def quack(torch):
    from quack.softmax import softmax_fwd

    return softmax_fwd


def liger(torch):
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    return LigerSoftmaxFunction.apply


def flashinfer(torch):
    from flashinfer.sampling import softmax

    def in_f32(x):
        if x.dtype != torch.float32:
            raise NotHere("its softmax takes f32 only")
        return softmax(x)

    return in_f32


def flashinfer_topk(torch):
    from flashinfer import top_k  # since version 0.6

    return top_k


def cub_topk(torch):
    raise NotHere("CUB has no Python package: name a file with --library cub_topk=FILE.py")


LIBRARIES = {"quack": quack, "liger": liger, "flashinfer": flashinfer}
SELECTIONS = {"flashinfer_topk": flashinfer_topk, "cub_topk": cub_topk}  # of (x, k), in any order


def best_first(values, indices):
    """The same values and indices (rows, k), best first. The judge asks for this order; it is not timed."""
    values, order = values.sort(dim=-1, descending=True, stable=True)
    return values, indices.gather(-1, order)


def files_of(words):
    """{"quack": "file.py"} of ["quack=file.py"]. Raises ValueError with one line for another word."""
    named = {}
    for word in words or []:
        name, _, path = word.partition("=")
        if name not in {**LIBRARIES, **SELECTIONS} or not path:
            known = ", ".join([*LIBRARIES, *SELECTIONS])
            raise ValueError(f"--library {word}: must be NAME=FILE.py, NAME one of {known}")
        named[name] = path
    return named


def function_of(name, files, torch):
    """The library's function: a softmax, or a top-k. Raises NotHere, with the reason."""
    try:
        if name not in files:
            return {**LIBRARIES, **SELECTIONS}[name](torch)
        spec = importlib.util.spec_from_file_location("assay_peer_" + name, files[name])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, name)
    except (ImportError, OSError, AttributeError) as e:
        raise NotHere(f"not here: {e}".splitlines()[0]) from e


# Compiles the kernels of peers before anything is timed, several at once.
#
# Triton and torch.compile compile a kernel at its first launch, some seconds for a shape, on one core. Here every shape
# is launched once in one of several processes. What they compile stays in the caches on the disk, where the timed
# launches find it. Which of several compiled kernels is fastest is not kept: torch.compile finds that out by timing
# them, and here other processes use the GPU at the same time. What goes wrong here is not said: the timed launch fails
# in the same way and its record says so.

COMPILED = ("triton_row", "liger", "torch_compile")  # peers that compile when they run


def launch_once(peer, dtype, rows, V, library):
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # this process is one of several already
    import torch

    from peer_bench import softmax_by_peer

    if peer == "torch_compile":
        import torch._inductor.config as inductor

        inductor.autotune_local_cache = False

    x = torch.zeros(rows, V, device="cuda",
                    dtype={"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[dtype])
    softmax_by_peer(torch, peer, library)(x, torch.empty_like(x))
    torch.cuda.synchronize()


def compile_ahead(shapes, library, seconds):
    """Launches the shapes (peer, dtype, rows, V) of compiled peers once. Stops after `seconds`."""
    begin = time.monotonic()
    # Only torch.compile makes another kernel for another number of rows.
    todo = sorted({(p, d, rows if p == "torch_compile" else 16, V) for p, d, rows, V in shapes if p in COMPILED})
    workers = min(len(todo), 16, max(1, (os.cpu_count() or 2) // 2))
    if workers > 1 and seconds > 0:
        # The threads of a process that has used CUDA cannot be copied by a fork.
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            under_way = [pool.apply_async(launch_once, (*shape, library)) for shape in todo]
            for one in under_way:
                one.wait(max(0.0, begin + seconds - time.monotonic()))
