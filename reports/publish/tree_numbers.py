#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The size of this tree in numbers: lines of code and of tests, files, words of documents, bytes of published results,
files that list the operations.

  reports/publish/tree_numbers.py

It counts what git has. Code is what is no test, fixture, data, document or proof; tests are *_test files, their
helpers (test_*, *_test.hpp), case files (*.calls, *.entries) and fixtures.
"""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = (".calls", ".entries")
CODE = {".c", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".in", ".py", ".sh", ".cmake", ".css", ".js", *CASES}
OPS = ("log_softmax", "softmax_topk", "topk_softmax", "min_p", "top_p")


def is_test(path):
    parts = path.split("/")
    name = parts[-1]
    return (name.endswith(CASES) or "fixtures" in parts or "_test." in name or name.startswith("test_") or "command_test" in name
            or any(p in ("faults", "hostile") for p in parts) or path.startswith("reports/cheats/kernels"))


def main():
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    lines = {"code": 0, "tests": 0, "proofs": 0}
    count, words, published, lists = 0, 0, 0, []
    for path in filter(None, files.split("\0")):
        file = ROOT / path
        if not file.is_file():
            continue
        count += 1
        if path.startswith("reports/published/"):
            published += file.stat().st_size
            continue
        if file.suffix == ".md":
            words += len(file.read_text().split())
        elif file.suffix == ".v":
            lines["proofs"] += len(file.read_text().splitlines())
        elif (file.suffix in CODE or file.name in ("CMakeLists.txt", "run")) and "/golden/" not in path:
            text = file.read_text(errors="replace")
            lines["tests" if is_test(path) else "code"] += len(text.splitlines())
            if not is_test(path) and all(re.search(r"(?<!\w)%s(?!\w)" % op, text) for op in OPS):
                lists.append(path)
    for what, n in lines.items():
        print(f"lines of {what}: {n:,}")
    print(f"files: {count:,}")
    print(f"words of documents: {words:,}")
    print(f"bytes of reports/published: {published:,}")
    print(f"files that name {len(OPS)} operations: {len(lists)}: {', '.join(lists)}")


if __name__ == "__main__":
    main()
