# SPDX-License-Identifier: Apache-2.0
"""Says which tensors the callable takes, and what parameters it has. It runs in a process of its own, which has
imported the callable and launches nothing. Its answer is text: target.cpp reads it, and callable_roles.cpp says what
each parameter gets."""
import inspect
import types

# A callable takes the tensors of the first package in this list that its code uses.
FRAMEWORKS = [("triton", "torch"), ("cutlass", "torch"), ("torch", "torch"), ("cupy", "cupy"), ("jax", "jax"),
              ("numba.cuda", "dlpack"), ("numpy", "numpy"), ("numba", "numpy")]
KINDS = ["numpy", "torch", "cupy", "jax", "dlpack"]
GPU_ONLY = {"triton", "cutlass", "cupy", "numba.cuda"}
BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Refused(Exception):
    """The target is wrong. The text is one line that says why."""


def named_in(function, module):
    """Names of the packages that the function's module refers to."""
    names = set()
    scope = dict(vars(module))
    scope.update(getattr(inspect.unwrap(function), "__globals__", {}))
    for value in list(scope.values()):
        if isinstance(value, types.ModuleType):
            names.add(value.__name__)
        else:
            of = (getattr(value, "__module__", None), type(value).__module__)
            names.update(n for n in of if isinstance(n, str))
    return names


def framework(function, module):
    """Returns (kind of tensors, where it runs). The second is "cuda", "host" or "either"."""
    names = named_in(function, module)

    def refers(package):
        return any(n == package or n.startswith(package + ".") for n in names)

    device = getattr(function, "assay_device", None) or getattr(module, "ASSAY_DEVICE", None)
    if device not in (None, "cuda", "host"):
        raise Refused(f"assay_device is {device!r}: known are cuda and host")
    device = device or ("cuda" if any(refers(n) for n in GPU_ONLY) else "either")
    said = getattr(function, "assay_tensors", None) or getattr(module, "ASSAY_TENSORS", None)
    if said:
        if said not in KINDS:
            raise Refused(f"assay_tensors is {said!r}: known are " + ", ".join(KINDS))
        return said, device
    return next((kind for package, kind in FRAMEWORKS if refers(package)), "numpy"), device


def signature(function):
    """The parameters of a callable, and whether it takes others. A layer has the parameters of its `forward`. If Python
    does not know the signature, any parameters are accepted."""
    function = getattr(function, "_orig_mod", function)  # torch.compile keeps the original here
    try:
        found = list(inspect.signature(function).parameters.values())
        if hasattr(function, "forward") and not any(p.kind in BY_PLACE for p in found):
            found = list(inspect.signature(function.forward).parameters.values())
    except (TypeError, ValueError):
        return ["more", "keywords"]
    kinds = {inspect.Parameter.POSITIONAL_ONLY: "place_alone", inspect.Parameter.POSITIONAL_OR_KEYWORD: "place",
             inspect.Parameter.KEYWORD_ONLY: "keyword", inspect.Parameter.VAR_POSITIONAL: "more",
             inspect.Parameter.VAR_KEYWORD: "keywords"}
    lines = []
    for p in found:
        initial = ("required" if p.default is p.empty else "none" if p.default is None else
                   "chooses" if isinstance(p.default, (bool, str)) else "value")
        more = p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        lines.append(kinds[p.kind] if more else f"parameter {kinds[p.kind]} {initial} {p.name}")
    return lines


try:
    kind, device = framework(function, module)
    answer = "\n".join([f"tensors {kind}", f"device {device}"] + signature(function))
except Refused as error:
    answer = f"refused {error}"
except BaseException as error:
    answer = "refused " + (f"{type(error).__name__}: {error}".splitlines() or [""])[0]
