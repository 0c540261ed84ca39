# SPDX-License-Identifier: Apache-2.0
"""Finds the callable that the command line names, and the kind of tensors that it takes."""
import ast
import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import sys
import types

# The package that provides a module, where the two names differ.
PACKAGES = {"cupy": "cupy-cuda12x", "cutlass": "nvidia-cutlass-dsl", "cuda": "cuda-python"}
# A callable takes the tensors of the first package in this list that its code uses.
FRAMEWORKS = [("triton", "torch"), ("cutlass", "torch"), ("torch", "torch"), ("cupy", "cupy"), ("jax", "jax"),
              ("numba.cuda", "dlpack"), ("numpy", "numpy"), ("numba", "numpy")]
KINDS = ["numpy", "torch", "cupy", "jax", "dlpack"]
STANDARD = getattr(sys, "stdlib_module_names", ())
# Packages that take long to import. A process that has imported them may fork.
FORKABLE = ("numpy", "torch", "triton")
GPU_ONLY = {"triton", "cutlass", "cupy", "numba.cuda"}


class Refused(Exception):
    """The target is wrong. The text is one line that says why."""


class Lacks(Exception):
    """The target may be right, but this Python lacks a package. The text is one line that says what to install."""


def missing(name, who):
    package = PACKAGES.get(name.split(".")[0], name.split(".")[0])
    python = sys.executable
    return Lacks(f"{who} imports {name}, which {python} does not have: {python} -m pip install {package}")


def last_line(error):
    """The name and the first line of an exception, for example "ValueError: V must be a multiple of 4"."""
    lines = str(error).strip().splitlines()
    name = type(error).__qualname__
    return f"{name}: {lines[0]}" if lines else name


def import_module(name, who):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        known = name.split(".")[0] in {package.split(".")[0] for package, _ in FRAMEWORKS}
        if error.name and not known and (name == error.name or name.startswith(error.name + ".")):
            raise Refused(f"{sys.executable} finds no module {error.name} from {os.getcwd()}") from error
        raise missing(error.name or "a module", who) from error


def import_file(path, who):
    folder, base = os.path.split(path)
    name = os.path.splitext(base)[0]
    sys.path.insert(0, folder)
    # If a module of the same name already exists, the file gets another name.
    if name in sys.modules or name in STANDARD:
        name = "assay_target_" + name
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    # Do not write a cache beside the user's file.
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise missing(error.name or "a module", who) from error
    finally:
        sys.dont_write_bytecode = before
    return module


def source_of(kind, place):
    """The path of the target's source, or None if it is not known. Imports nothing."""
    if kind == "file":
        return place
    spec, folders, parts = None, None, place.split(".")
    for n in range(len(parts)):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[: n + 1]), folders)
        folders = spec and spec.submodule_search_locations
        if not spec or (n + 1 < len(parts) and not folders):
            return None
    return spec.origin if spec.has_location else None


def first_imports(kind, place):
    """The members of FORKABLE that are installed and that the target imports first. Stops at the first statement that
    is not an import, and at the first import of another package, because it might change how they behave."""
    try:
        with open(source_of(kind, place), "rb") as file:
            body = ast.parse(file.read()).body
    except (OSError, TypeError, ValueError, SyntaxError):
        return []
    found = []
    for statement in body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            names = [statement.module]
        else:
            break
        tops = [name.split(".")[0] for name in names]
        if not all(top in FORKABLE or top in STANDARD for top in tops):
            break
        found += [top for top in tops if top in FORKABLE and importlib.util.find_spec(top)]
    return found


def load(kind, place, function):
    """Returns (callable, module). Raises Refused or Lacks."""
    who = os.path.basename(place) if kind == "file" else place
    try:
        module = import_file(place, who) if kind == "file" else import_module(place, who)
    except (Refused, Lacks):
        raise
    except BaseException as error:
        raise Refused("can not be imported: " + last_line(error)) from error
    found = module
    for part in function.split("."):
        if not hasattr(found, part):
            names = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")
                     and getattr(v, "__module__", None) == module.__name__]
            has = ": it has " + ", ".join(sorted(names)) if names else ""
            raise Refused(f"{who} has no {function}{has}")
        found = getattr(found, part)
    if not callable(found):
        raise Refused(f"{who}: {function} is not callable")
    return found, module


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
