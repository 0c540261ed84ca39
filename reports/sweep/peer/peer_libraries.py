# SPDX-License-Identifier: Apache-2.0
"""Functions of libraries that are timed where they are installed, and of a user's own file.

`--library NAME=FILE.py` takes the function NAME of a file instead of an installed package. Example: a library
that was compiled ahead, or a kernel of your own. A softmax takes a tensor (rows, V) and returns its softmax. A top-k
takes (x, k) and returns (values, indices) in any order.
"""
import importlib.util


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
