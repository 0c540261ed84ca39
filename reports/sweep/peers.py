#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times kernels from Python beside assay's: PyTorch eager, torch.compile, torch.topk, a Triton kernel, and
QuACK, Liger, FlashInfer (its softmax and its radix top-k) and CUB's top-k where they are installed or named.

    python3 reports/sweep/peers.py --out DIR --assay path/to/assay [--quick] [--budget 540] [--peer NAME...]
                                      [--library NAME=FILE.py...]

Writes DIR/peers.jsonl, with records in the format of reports/sweep/data/record.hpp. It uses the logits of assay sweep
(assay inputs makes them), and times in the same way: with CUDA events, with launches queued behind a wait, and with
buffers larger than the L2. It compares the times with the ceilings in DIR/sweep.jsonl, and assay grade judges the
outputs. It skips configurations that the file has already. Without PyTorch or a GPU it writes one record per peer that
says so. That is no error.
"""
import argparse
import collections
import concurrent.futures
import os
import subprocess
import sys
import time

# The imports below are files of the folder `peer` beside this one, in the source tree.
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer"))
from peer_bench import Inputs, measure
from peer_libraries import compile_ahead, files_of
from peer_records import KINDS, SIZES, Ceilings, Seconds, blank, identity, line_of, put_rates, read_lines, rules_of, write_whole

FEW = [63, 252, 1008, 4032, 14080, 16128, 25000, 32000, 64512, 128256, 129024, 262144, 1032192]
QUICK = [1008, 4032, 14080, 32000, 129024]
UNDER_WAY = 12  # so many shapes may be judged while the next is timed


def topk_shapes(a):
    """(rows, V, k) of top-k: a few of every scale, and what assay sweep compares with goals."""
    ks = a.k or ([5] if a.quick else [5, 10, 15, 30])
    shapes = [(rows, V, k) for rows in a.rows or [4000, 10] for V in a.V or (QUICK if a.quick else FEW) for k in ks]
    if not (a.quick or a.rows or a.V or a.k):
        r = a.rules
        shapes += [(4000, V, k) for V in r.topk_ladder for k in r.topk_few]
        shapes += [(4000, V, k) for V in r.topk_many_ladder for k in r.topk_many]
        shapes += [(10, V, k) for V in r.topk_ladder_few_rows for k in r.topk_few]
    return [s for s in dict.fromkeys(shapes) if s[2] <= s[1]]


def softmax_shapes(a, peer):
    # torch.compile takes seconds per shape: it gets what the goals ask for, and no more.
    more = [] if peer == "torch_compile" else FEW
    sizes = a.V or (QUICK if a.quick else sorted({*a.rules.ladder, *more}))
    return [(rows, V, 0) for rows in a.rows or [4000, 10, 1]
            for V in (sizes if rows == 4000 or a.V else a.rules.ladder_few_rows)]


def plan(a):
    """The configurations (peer, dtype, rows, V, k), with the most important first. V: row length."""
    peers = a.peer or list(KINDS)
    out = []
    for peer in peers:
        for dtype in a.dtype or (["f32", "f16"] if a.quick else ["f32", "f16", "bf16"]):
            shapes = softmax_shapes(a, peer) if KINDS[peer][0] == "softmax" else topk_shapes(a)
            out += [(peer, dtype, *shape) for shape in shapes]
    order = {d: i for i, d in enumerate(["f32", "f16", "bf16"])}
    rank = lambda c: (c[2] != 4000, c[4] not in (0, 5), order[c[1]], peers.index(c[0]), c[3])
    return sorted(out, key=rank)


def missing():
    """Returns (why nothing can be timed here, or "", torch)."""
    try:
        import torch
    except Exception as e:
        return f"no PyTorch: {e}", None
    return ("" if torch.cuda.is_available() else "PyTorch sees no GPU"), torch


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--assay", required=True)
    p.add_argument("--peer", action="append", choices=list(KINDS))
    p.add_argument("--library", action="append", help="NAME=FILE.py: a library's softmax or top-k from a file")
    p.add_argument("--dtype", action="append", choices=list(SIZES))
    p.add_argument("--V", action="append", type=int)
    p.add_argument("--rows", action="append", type=int)
    p.add_argument("--k", action="append", type=int)
    p.add_argument("--family", default="normal_1")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--budget", type=float, default=600, help="seconds; what is left then is not_run")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--again", action="store_true", help="measure what the file has, too")
    a = p.parse_args()
    try:
        a.library = files_of(a.library)
    except ValueError as e:
        p.error(str(e))
    return a


def main():
    a = arguments()
    version = subprocess.run([a.assay, "--version"], check=True, capture_output=True, text=True).stdout
    a.rules, a.seconds = rules_of(a.assay), Seconds()
    a.commit = version[version.find("(") + 1 : version.find(")")]
    why, torch = missing()
    gpu = "" if why else torch.cuda.get_device_name(0)
    ceilings = Ceilings(os.path.join(a.out, "sweep.jsonl"), gpu)
    graders = concurrent.futures.ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) // 2))
    inputs = Inputs(a)
    try:
        return every_shape(a, why, gpu, torch, ceilings, inputs, graders)
    finally:
        graders.shutdown()
        inputs.remove()


def every_shape(a, why, gpu, torch, ceilings, inputs, graders):
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, "peers.jsonl")
    kept = {identity(r): r for r in read_lines(path)}
    for r in kept.values():  # records of an earlier run, made before the ceilings were measured
        if r["status"] in ("measured", "once") and r["copy_us"] is None and r["gpu"] == gpu:
            ceilings.put(r)
            put_rates(r, gpu, a.rules)
    write_whole(path, kept.values())  # drops a torn last line
    counts = {}
    under_way = collections.deque()  # timed, but still being judged

    def end_oldest():
        r, finish = under_way.popleft()
        with a.seconds.of("waiting for the judge"):
            finish()
        kept[identity(r)] = r
        counts[r["status"]] = counts.get(r["status"], 0) + 1
        with open(path, "a", encoding="utf-8") as f:
            f.write(line_of(r))

    def had(shape):
        old = kept.get(identity(blank(*shape, a)))
        return old and not a.again and old["status"] != "not_run"

    begin = time.monotonic()
    shapes = [s for s in plan(a) if not had(s)]
    if len(shapes) < len(plan(a)):
        counts["had"] = len(plan(a)) - len(shapes)
    if not why:
        with a.seconds.of("compiling ahead"):
            compile_ahead([s[:4] for s in shapes], a.library, a.budget / 4)
    said = set()
    for peer, dtype, rows, V, k in shapes:
        r, finish = blank(peer, dtype, rows, V, k, a), lambda: None
        if why:
            if peer in said:
                continue
            said.add(peer)
            r["reason"] = why
        elif time.monotonic() - begin > a.budget:
            r["reason"] = f"the budget of {a.budget:g} s was spent"
        else:
            finish = measure(r, a, torch, ceilings, inputs, graders)
        under_way.append((r, finish))
        if len(under_way) > UNDER_WAY:
            end_oldest()
    while under_way:
        end_oldest()
    write_whole(path, kept.values())
    failed = [r for r in kept.values() if r["status"] == "failed"]
    print(("FAIL: " if failed else "") + ", ".join(f"{n} {s}" for s, n in counts.items()) + f": {path}")
    print(a.seconds.line())
    if why:
        print("peers not run: " + why)
    for r in failed[:3]:
        print(f"  failed: {r['key']} V={r['V']} rows={r['rows']}: {r['reason']}\n    {r['reproduce']}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
