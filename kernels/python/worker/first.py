# SPDX-License-Identifier: Apache-2.0
"""What can be imported before the target: the packages that take long to import, if its first statements import them.
Runs before any foreign code. Its answer is their names."""
import ast
import importlib.machinery
import importlib.util
import os
import sys


def compile_sources():
    """The code of a module whose source lies outside of the installed packages is made of that source, which is what a
    certificate hashes. A file in __pycache__ may hold other code. This file's names are gone when it is called."""
    site, dist, own = "/site-packages/", "/dist-packages/", os.path.dirname(os.__file__) + "/"
    cached = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader, name):
        path = loader.get_filename(name)
        if path.endswith(".py") and not (site in path or dist in path or path.startswith(own)):
            return loader.source_to_code(loader.get_data(path), path)
        return cached(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code


compile_sources()
STANDARD = getattr(sys, "stdlib_module_names", ())
# A process that has imported them may fork.
FORKABLE = ("numpy", "torch", "triton")
# torch.compile makes few kernels here. Helper processes would cost more, because each imports torch.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")


def source_of(place):
    """The path of a module's source, or None if it is not known. Imports nothing."""
    spec, folders, parts = None, None, place.split(".")
    for n in range(len(parts)):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[: n + 1]), folders)
        folders = spec and spec.submodule_search_locations
        if not spec or (n + 1 < len(parts) and not folders):
            return None
    return spec.origin if spec.has_location else None


def first_imports():
    """The members of FORKABLE that are installed and that the target imports first. Stops at the first statement that
    is not an import, and at the first import of another package, because it might change how they behave."""
    try:
        if form == "file":
            body = ast.parse(source).body
        else:
            with open(source_of(place), "rb") as file:
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


answer = " ".join(first_imports())
