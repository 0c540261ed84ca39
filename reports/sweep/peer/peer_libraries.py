# SPDX-License-Identifier: Apache-2.0
"""Softmax functions of libraries that are timed where they are installed, and of a user's own file.

`--library NAME=FILE.py` takes the function NAME of a file instead of an installed package. Example: a library
that was compiled ahead, or a kernel of your own. Such a function takes a tensor (rows, V) and returns its softmax.
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
    """FlashInfer's top-k as a function of (x, k): values and indices, best first."""
    import inspect

    try:
        from flashinfer import top_k
    except ImportError as e:  # before version 0.6 there was none
        raise NotHere(f"not here: {e}".splitlines()[0]) from e
    words = {"sorted": True} if "sorted" in inspect.signature(top_k).parameters else {}

    def best(x, k):
        values, indices = top_k(x, k, **words)
        if words:
            return values, indices
        values, order = values.sort(dim=-1, descending=True)
        return values, indices.gather(-1, order)

    return best


LIBRARIES = {"quack": quack, "liger": liger, "flashinfer": flashinfer}


def files_of(words):
    """{"quack": "file.py"} of ["quack=file.py"]. Raises ValueError with one line for another word."""
    named = {}
    for word in words or []:
        name, _, path = word.partition("=")
        if name not in LIBRARIES or not path:
            raise ValueError(f"--library {word}: must be NAME=FILE.py, NAME one of {', '.join(LIBRARIES)}")
        named[name] = path
    return named


def softmax_of(name, files, torch):
    """The library's softmax. Raises NotHere, with the reason."""
    try:
        if name not in files:
            return LIBRARIES[name](torch)
        spec = importlib.util.spec_from_file_location("assay_peer_" + name, files[name])
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, name)
    except (ImportError, OSError, AttributeError) as e:
        raise NotHere(f"not here: {e}".splitlines()[0]) from e
