# SPDX-License-Identifier: Apache-2.0
"""Records of peers: their fields, their file, the ceilings and rates that they contain, and the verdicts of `assay grade`."""
import collections
import contextlib
import json
import math
import os
import subprocess
import time

KINDS = {  # op, the declaration for assay grade (see assay grade --help), and what makes the kernel
    "torch_softmax": ("softmax", "", "PyTorch eager"),
    "torch_compile": ("softmax", "exp=fast", "torch.compile, one shape after the other"),
    "triton_row": ("softmax", "exp=fast; normalise=recomputed", "a Triton program a row"),
    # QuACK rescales exps that were taken with the maximum of a warp.
    "quack": ("softmax", "exp=exp2_fma; normalise=kept", "QuACK"),
    "liger": ("softmax", "exp=fast; normalise=recomputed", "Liger"),
    "flashinfer": ("softmax", "exp=fast; normalise=recomputed", "FlashInfer"),
    "torch_topk": ("topk", "", "PyTorch eager"),
    # Both give the k best in any order, and any of equal logits.
    "flashinfer_topk": ("topk", "ties=unspecified", "FlashInfer's radix top-k, unordered"),
    "cub_topk": ("topk", "ties=unspecified", "CUB's DeviceBatchedTopK, unordered"),
    "torch_softmax_topk": ("softmax_topk", "select=probs", "PyTorch eager, softmax and then top-k"),
}
SIZES = {"f32": 4, "f16": 2, "bf16": 2}
# reports/sweep/rig/rules.hpp says what each of them is.
Rules = collections.namedtuple(
    "Rules", "too_long_us warm_us batch_us least_us enough_us least_samples most_samples narrow most_launches l2_sizes "
    "tile_elements judged_elements least_judged_rows most_judged_rows ladder ladder_few_rows "
    "topk_ladder topk_many_ladder topk_ladder_few_rows topk_few topk_many datasheets")


class Seconds:
    """Where the time of a run goes."""

    def __init__(self):
        self.begin, self.spent = time.monotonic(), collections.Counter()

    @contextlib.contextmanager
    def of(self, what):
        begin = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] += time.monotonic() - begin

    def line(self):
        whole = time.monotonic() - self.begin
        parts = [f"{what} {s:.1f}" for what, s in self.spent.items()]
        return f"seconds: {whole:.1f} in all: " + ", ".join([*parts, f"rest {whole - self.spent.total():.1f}"])


def rules_of(assay):
    """By which rules assay sweep times. A name that only one side has is an error."""
    done = subprocess.run([assay, "sweep", "rules"], check=True, capture_output=True, text=True)
    return Rules(**json.loads(done.stdout))


def blank(peer, dtype, rows, V, k, a):
    op = KINDS[peer][0]
    size = SIZES[dtype]
    out = k * (size + 4) if op == "softmax_topk" or op == "topk" else V * size
    words = ["python3", "reports/sweep/peers.py", "--peer", peer, "--dtype", dtype, "--V", V, "--rows", rows]
    words += (["--k", k] if k else []) + ["--again", "--out", "DIR", "--assay", "assay"]
    null = ("median_us p10_us p90_us ci_low_us ci_high_us claimed_loads claimed_stores copy_us read_us empty_us "
            "share_of_copy share_of_read gb_per_s share_of_datasheet accesses_at_copy_speed max_ulp max_utilisation "
            "sm_clock_mhz mem_clock_mhz sm_clock_now_mhz").split()
    record = {
        "kind": "sweep", "version": 1, "key": f"{peer}/{dtype}@cuda", "role": "peer", "backend": "cuda", "op": op,
        "dtype": dtype, "rows": rows, "V": V, "k": k, "status": "not_run", "reason": "", "samples": 0,
        "times_us": [], "launches_per_sample": 0, "bytes": rows * (V * size + out), "cold": "",
        "verified": "not_judged", "verified_reason": "", "verified_elements": 0, "family": a.family, "seed": a.seed,
        "distinct_rows": 0, "gpu": "", "driver": "", "cuda": "", "compiler": "", "flags": KINDS[peer][2],
        "commit": "", "reproduce": " ".join(str(w) for w in words)}
    record.update({name: None for name in null})
    return record


def line_of(r):
    """The record as a line, as reports/sweep/data/record.cpp writes it: infinities and NaN are strings."""
    def value(x):
        if isinstance(x, float) and not math.isfinite(x):
            return "nan" if x != x else "inf" if x > 0 else "-inf"
        return x

    return json.dumps({name: value(x) for name, x in r.items()}) + "\n"


def write_whole(path, records):
    part = f"{path}.part-{os.getpid()}"
    with open(part, "w", encoding="utf-8") as f:
        f.writelines(line_of(r) for r in records)
    os.replace(part, path)


def identity(r):
    return (r["key"], r["V"], r["rows"], r["k"], r["family"], r["seed"])


def read_lines(path):
    """The records of a jsonl file. A torn last line is dropped."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines() if line]


class Ceilings:
    """The times of the copy, the read and the empty launch that `assay sweep` measured on this GPU, by bytes."""

    def __init__(self, path, gpu):
        self.by_bytes, self.driver, self.clocks = {}, "", (None, None)
        for r in read_lines(path):
            if r["gpu"] == gpu and r["copy_us"] and r["read_us"]:
                self.by_bytes[r["bytes"]] = (r["copy_us"], r["read_us"], r["empty_us"])
                self.driver, self.clocks = r["driver"], (r["sm_clock_mhz"], r["mem_clock_mhz"])

    def put(self, r):
        """Writes the ceilings for the record's bytes. If there are none, scales those of the nearest size within 2 %,
        such as that of a top-k with another k."""
        nearest = min(self.by_bytes, key=lambda b: abs(b - r["bytes"]), default=0)
        if abs(nearest - r["bytes"]) > 0.02 * r["bytes"]:
            return
        copy, read, r["empty_us"] = self.by_bytes[nearest]
        r["copy_us"], r["read_us"] = (us * r["bytes"] / nearest for us in (copy, read))


def put_rates(r, gpu, rules):
    if not r["median_us"]:
        return
    r["gb_per_s"] = r["bytes"] / r["median_us"] / 1e3
    for name, figure in rules.datasheets:
        if name in gpu:
            r["share_of_datasheet"] = r["gb_per_s"] / figure
            break
    if r["copy_us"]:
        r["share_of_copy"] = r["copy_us"] / r["median_us"]
        copied = r["bytes"] / r["copy_us"]
        r["accesses_at_copy_speed"] = r["median_us"] * copied / (r["rows"] * r["V"] * SIZES[r["dtype"]])
    if r["read_us"]:
        r["share_of_read"] = r["read_us"] / r["median_us"]


def grade(words, path):
    """Runs `assay grade` and returns its records."""
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise RuntimeError("assay grade: " + (done.stderr.strip() or f"exit status {done.returncode}"))
    return read_lines(path)


def take_verdict(r, graded):
    larger = lambda x, y: y if x is None else x if y is None else max(float(x), float(y))
    for g in graded:
        r["max_ulp"] = larger(r["max_ulp"], g["max_ulp"])
        r["max_utilisation"] = larger(r["max_utilisation"], g["max_bound_ratio"])
        r["verified_elements"] += g["rows_judged"] * (r["k"] or r["V"])
    statuses = {g["status"] for g in graded}
    if not graded or statuses - {"pass"}:
        bad = next((g for g in graded if g["status"] != "pass"), {"status": "not judged", "reason": ""})
        failed = "fail" in statuses
        r["verified"] = "fail" if failed else "not_judged"
        r["verified_reason"] = f"{bad['status']}: {bad['reason']}"
        if failed:
            raise RuntimeError("verification: " + bad["reason"])
        return
    # If the outputs before the timing were not judged, a good verdict after it does not change that.
    if r["verified_reason"].startswith(("unsupported", "inconclusive", "not judged", "not_run")):
        return
    r["verified"] = "pass"
    rows = sum(g["rows_judged"] for g in graded)
    if rows < r["rows"]:
        r["verified_reason"] = f"{rows} of {r['rows']} rows judged"
