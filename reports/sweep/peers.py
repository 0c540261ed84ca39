#!/usr/bin/env python3
"""Times what Python has beside assay's kernels: PyTorch eager, torch.compile, torch.topk and a Triton kernel.

    python3 reports/sweep/peers.py --out DIR --assay path/to/assay [--quick] [--budget 540] [--peer NAME...]

Writes DIR/peers.jsonl, records of the format of reports/sweep/data/record.hpp, on the same logits as assay sweep (assay
inputs makes them), timed the same way (CUDA events, launches queued behind a wait, buffers past the L2), held against
the ceilings in DIR/sweep.jsonl, and judged by assay grade. What the file holds already is skipped. Without PyTorch or
a GPU every peer becomes one record that says so; that is no error.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time

KINDS = {  # op, what assay grade may hold it to (assay grade --help), and what makes it
    "torch_softmax": ("softmax", "", "PyTorch eager"),
    "torch_compile": ("softmax", "exp=fast", "torch.compile, one process a shape"),
    "triton_row": ("softmax", "exp=fast; normalise=recomputed", "a Triton program a row"),
    "torch_topk": ("topk", "", "PyTorch eager"),
    "torch_softmax_topk": ("softmax_topk", "select=probs", "PyTorch eager, softmax and then top-k"),
}
PAPER = [63 << i for i in range(15)]
FEW = [63, 252, 1008, 4032, 14080, 16128, 25000, 32000, 64512, 128256, 129024, 262144, 1032192]
QUICK = [1008, 4032, 14080, 32000, 129024]
TILE = 1 << 22  # elements of distinct rows, as in reports/sweep/inputs.cpp
TOO_LONG, ENOUGH, BATCH = 200_000.0, 150_000.0, 100.0  # us, as in reports/sweep/timing.cpp
MOST, LEAST, NARROW = 30, 12, 0.02
UNDER_WAY = 12  # shapes whose outputs may be judged while the next is timed
SIZES = {"f32": 4, "f16": 2, "bf16": 2}
DATASHEET = (("H200", 4800.0), ("H100 80GB HBM3", 3350.0))  # GB/s, NVIDIA's data sheets


class Unsupported(Exception):
    """The peer has no such configuration: no failure."""


def quantile(samples, q):
    s = sorted(samples)
    at = q * (len(s) - 1)
    low = int(at)
    high = min(low + 1, len(s) - 1)
    return s[low] + (at - low) * (s[high] - s[low])


def median_interval(samples):
    """95 % interval of the median by ranks; None for fewer than 6 samples."""
    n = len(samples)
    if n < 6:
        return None
    s = sorted(samples)
    below, j = 0.0, 0
    while below + math.comb(n, j) / 2.0**n <= 0.025:
        below += math.comb(n, j) / 2.0**n
        j += 1
    return s[j - 1], s[n - j]


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
    """As reports/sweep/data/record.cpp writes it: infinities and NaN are strings."""
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
    """Records of a jsonl file; a torn last line is dropped."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines() if line]


class Ceilings:
    """Copy, read and empty launch of assay sweep, by bytes, on the same GPU."""

    def __init__(self, path, gpu):
        self.by_bytes, self.driver, self.clocks = {}, "", (None, None)
        for r in read_lines(path):
            if r["gpu"] == gpu and r["copy_us"] and r["read_us"]:
                self.by_bytes[r["bytes"]] = (r["copy_us"], r["read_us"], r["empty_us"])
                self.driver, self.clocks = r["driver"], (r["sm_clock_mhz"], r["mem_clock_mhz"])

    def put(self, r):
        """Of the same bytes, or in proportion those of the nearest within 2 %: top-k of another k."""
        nearest = min(self.by_bytes, key=lambda b: abs(b - r["bytes"]), default=0)
        if abs(nearest - r["bytes"]) > 0.02 * r["bytes"]:
            return
        copy, read, r["empty_us"] = self.by_bytes[nearest]
        r["copy_us"], r["read_us"] = (us * r["bytes"] / nearest for us in (copy, read))


def put_rates(r, gpu):
    if not r["median_us"]:
        return
    r["gb_per_s"] = r["bytes"] / r["median_us"] / 1e3
    for name, figure in DATASHEET:
        if name in gpu:
            r["share_of_datasheet"] = r["gb_per_s"] / figure
            break
    if r["copy_us"]:
        r["share_of_copy"] = r["copy_us"] / r["median_us"]
        copied = r["bytes"] / r["copy_us"]
        r["accesses_at_copy_speed"] = r["median_us"] * copied / (r["rows"] * r["V"] * SIZES[r["dtype"]])
    if r["read_us"]:
        r["share_of_read"] = r["read_us"] / r["median_us"]


def triton_softmax(torch):
    """softmax(x, y): one program a row, the row in registers, at most 65536 columns."""
    global tl  # what is compiled looks its names up there
    import triton
    import triton.language as tl

    @triton.jit
    def row(x, y, V, pitch, BLOCK: tl.constexpr):
        at = tl.program_id(0).to(tl.int64) * pitch
        column = tl.arange(0, BLOCK)
        v = tl.load(x + at + column, mask=column < V, other=-float("inf")).to(tl.float32)
        e = tl.exp(v - tl.max(v, axis=0))
        tl.store(y + at + column, (e / tl.sum(e, axis=0)).to(y.dtype.element_ty), mask=column < V)

    def softmax(x, y):
        rows, V = x.shape
        block = triton.next_power_of_2(V)
        if block > 65536:
            raise Unsupported("a row of more than 65536 does not fit a program's registers")
        warps = 4 if block < 2048 else 8 if block < 8192 else 16
        row[(rows,)](x, y, V, x.stride(0), BLOCK=block, num_warps=warps)
        return y

    return softmax


class Inputs:
    """The logits of assay inputs, made once for all peers of a dtype and V."""

    def __init__(self, a):
        self.a, self.made = a, {}
        self.folder = tempfile.mkdtemp(prefix="assay-peers-")

    def bits(self, dtype, V, distinct):
        import numpy

        path = self.made.get((dtype, V, distinct))
        if path is None:
            a, folder = self.a, os.path.join(self.folder, f"{dtype}-{V}-{distinct}")
            words = [a.assay, "inputs", "--out", folder, "--dtype", dtype, "--family", a.family, "--V", V, "--rows",
                     distinct, "--seed", a.seed]
            subprocess.run([str(w) for w in words], check=True, stdout=subprocess.DEVNULL)
            path = self.made[dtype, V, distinct] = os.path.join(folder, f"{a.family}_V{V}.npy")
        return numpy.load(path)

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Bench:
    """One shape of one peer on this GPU: sets of buffers, timed launches, outputs to judge."""

    def __init__(self, torch, a, record, inputs, graders):
        self.torch, self.a, self.r = torch, a, record
        self.inputs, self.graders = inputs, graders
        self.dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[record["dtype"]]
        p = torch.cuda.get_device_properties(0)
        self.twice_l2, self.memory = 2 * p.L2_cache_size, p.total_memory
        self.launched = 0

    def prepare(self):
        torch, r = self.torch, self.r
        rows, V = r["rows"], r["V"]
        tile = self.tile()
        r["distinct_rows"] = min(rows, tile.shape[0])
        pair = r["bytes"]
        # softmax and then top-k has a whole matrix in between.
        needed = pair + (rows * V * SIZES[r["dtype"]] if r["op"] == "softmax_topk" else 0)
        if 2 * needed > self.memory * 0.9:
            raise Unsupported(f"needs {2 * needed / 1e9:.1f} GB of device memory")
        self.large = needed > self.memory / 2
        wanted = max(1, min(64, -(-self.twice_l2 // pair)))
        self.sets = max(1, min(wanted, int(self.memory / 2 / needed)))
        self.flushed = self.sets * pair < self.twice_l2
        repeat = -(-rows // tile.shape[0])
        self.x = [tile.repeat(repeat, 1)[:rows].contiguous() for _ in range(self.sets)]
        self.y = [None] * self.sets
        if self.flushed:
            self.flush = torch.zeros(self.twice_l2 // 4, device="cuda")
            r["cold"] = f"{self.twice_l2 / 1e6:.0f} MB read before every sample, no input used twice in one"
        elif self.sets == 1:
            r["cold"] = f"one set of buffers, {pair / 1e9:.1f} GB, larger than twice the L2"
        else:
            r["cold"] = f"{self.sets} inputs in turn, {self.sets * pair / 1e6:.0f} MB, more than twice the L2"
        self.work = self.work_of(tile)

    def tile(self):
        import numpy

        torch, r = self.torch, self.r
        distinct = min(r["rows"], max(1, TILE // r["V"]))
        bits = self.inputs.bits(r["dtype"], r["V"], distinct)
        if r["dtype"] == "bf16":
            return torch.from_numpy(bits.view(numpy.int16)).cuda().view(torch.bfloat16)
        return torch.from_numpy(bits).cuda()

    def work_of(self, tile):
        torch, peer, k = self.torch, self.r["key"].split("/")[0], self.r["k"]
        if peer == "torch_softmax":
            return lambda i: torch.softmax(self.x[i], -1)
        if peer == "torch_topk":
            return lambda i: torch.topk(self.x[i], k, dim=-1)
        if peer == "torch_softmax_topk":
            return lambda i: torch.topk(torch.softmax(self.x[i], -1), k, dim=-1)
        if peer == "torch_compile":
            compiled = torch.compile(lambda x: torch.softmax(x, -1), dynamic=False)
            return lambda i: compiled(self.x[i])
        softmax = triton_softmax(torch)
        outputs = [torch.empty_like(x) for x in self.x]
        return lambda i: softmax(self.x[i], outputs[i])

    def run_us(self, n):
        torch = self.torch
        if self.flushed:
            self.flush.sum()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        # Launches queue up behind it: some 20 us each, in cycles of 2 GHz.
        torch.cuda._sleep(20_000 + 40_000 * n)
        begin.record()
        for _ in range(n):
            i = self.launched % self.sets
            self.y[i] = self.work(i)
            self.launched += 1
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1000

    def last(self):
        y = self.y[(self.launched - 1) % self.sets]
        return list(y) if isinstance(y, (tuple, list)) else [y]

    def time(self):
        r = self.r
        r["launches_per_sample"] = 1
        first = self.run_us(1)
        if self.large or first > TOO_LONG:
            r["status"], r["times_us"] = "once", [round(first, 3)]
            r["reason"] = ("its buffers exceed half the memory: one sample" if self.large
                           else "its first launch took over 200 ms: one sample")
        else:
            most = self.sets if self.flushed else 128
            batch = lambda us: max(1, min(most, math.ceil(BATCH / max(us, 0.1))))
            one = min(first, self.run_us(1))
            warm = 0.0
            while warm < 3000:
                n = batch(one)
                us = self.run_us(n)
                one, warm = us / n, warm + us
            n = r["launches_per_sample"] = batch(one)
            spent = 0.0
            while len(r["times_us"]) < MOST and spent < ENOUGH:
                us = self.run_us(n)
                spent += us
                r["times_us"].append(round(us / n, 3))
                ci = median_interval(r["times_us"])
                if len(r["times_us"]) >= LEAST and ci and ci[1] - ci[0] <= NARROW * quantile(r["times_us"], 0.5):
                    break
            r["status"] = "measured"
        times = r["times_us"]
        r["samples"] = len(times)
        r["median_us"], r["p10_us"], r["p90_us"] = (quantile(times, q) for q in (0.5, 0.1, 0.9))
        ci = median_interval(times)
        if ci:
            r["ci_low_us"], r["ci_high_us"] = ci

    def judge(self, folder):
        """Copies a few rows, the first and the last among them, and has assay grade judge them beside what follows."""
        import numpy

        torch, r, a = self.torch, self.r, self.a
        os.mkdir(folder)
        count = min(r["rows"], max(2, min(8, (1 << 17) // r["V"])))
        rows = sorted({round(i * (r["rows"] - 1) / max(1, count - 1)) for i in range(count)})
        at = torch.tensor(rows, device="cuda")

        def save(name, t):
            t = t.index_select(0, at).cpu()
            if t.dtype == torch.bfloat16:
                t = t.view(torch.int16).numpy().view(numpy.uint16)
            path = os.path.join(folder, name + ".npy")
            numpy.save(path, numpy.ascontiguousarray(t))
            return path

        outputs = self.last()
        probs = "--values" if r["op"] == "topk" else "--probs"
        words = [a.assay, "grade", "--logits", save("logits", self.x[(self.launched - 1) % self.sets]), "--op",
                 r["op"], "--dtype", r["dtype"], probs, save("values", outputs[0]), "--name", r["key"].split("/")[0],
                 "--out", os.path.join(folder, "grade")]
        if len(outputs) > 1:
            words += ["--indices", save("indices", outputs[1])]
        declared = KINDS[r["key"].split("/")[0]][1]
        words += ["--declare", declared] if declared else []
        return self.graders.submit(grade, words, os.path.join(folder, "grade", "records.jsonl"))

    def measure(self):
        """Times the shape; what comes back waits for the verdicts on the outputs before and after."""
        folder = tempfile.mkdtemp(prefix="assay-peer-")
        verdicts = []
        try:
            self.prepare()
            self.run_us(1)
            verdicts.append(self.judge(os.path.join(folder, "before")))
            self.time()
            verdicts.append(self.judge(os.path.join(folder, "after")))
        except BaseException:
            concurrent.futures.wait(verdicts)
            shutil.rmtree(folder, ignore_errors=True)
            raise

        r = self.r

        def verify():
            try:
                for verdict in verdicts:
                    take_verdict(r, verdict.result())
            finally:
                concurrent.futures.wait(verdicts)
                shutil.rmtree(folder, ignore_errors=True)

        return verify


def grade(words, path):
    """assay grade's records."""
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
    # The outputs before the timing may have been left unjudged: one good verdict does not undo that.
    if r["verified_reason"].startswith(("unsupported", "inconclusive", "not judged", "not_run")):
        return
    r["verified"] = "pass"
    rows = sum(g["rows_judged"] for g in graded)
    if rows < r["rows"]:
        r["verified_reason"] = f"{rows} of {r['rows']} rows judged"


def clear_times(r):
    r["times_us"], r["samples"], r["launches_per_sample"] = [], 0, 0
    for name in ("median_us", "p10_us", "p90_us", "ci_low_us", "ci_high_us"):
        r[name] = None


def explain(r, torch, e):
    """What went wrong, as a status."""
    if isinstance(e, Unsupported):
        r["status"], r["reason"] = "unsupported", str(e)
    elif isinstance(e, torch.cuda.OutOfMemoryError):
        r["status"], r["reason"] = "unsupported", "out of device memory"
    else:
        clear_times(r)
        r["status"], r["reason"] = "failed", f"{type(e).__name__}: {e}".splitlines()[0][:300]


def measure(r, a, torch, ceilings, inputs, graders):
    """Times one shape, and gives a function that ends the record once its outputs were judged."""
    r["gpu"], r["cuda"] = torch.cuda.get_device_name(0), torch.version.cuda or ""
    r["compiler"] = "torch " + torch.__version__
    if r["key"].startswith("triton_row"):
        import triton

        r["compiler"] += ", triton " + triton.__version__
    r["driver"], r["commit"] = ceilings.driver, a.commit
    r["sm_clock_mhz"], r["mem_clock_mhz"] = ceilings.clocks
    verify = lambda: None
    try:
        verify = Bench(torch, a, r, inputs, graders).measure()
        try:
            r["sm_clock_now_mhz"] = float(torch.cuda.clock_rate(0))
        except Exception:
            pass  # without pynvml
    except Exception as e:
        explain(r, torch, e)
    torch.cuda.empty_cache()

    def finish():
        try:
            verify()
            if r["status"] in ("measured", "once"):
                ceilings.put(r)
                put_rates(r, r["gpu"])
        except Exception as e:
            explain(r, torch, e)

    return finish


def plan(a):
    """Configurations, the most important first: (peer, dtype, rows, V, k)."""
    peers = a.peer or list(KINDS)
    out = []
    for peer in peers:
        fused = KINDS[peer][0] != "softmax"
        # torch.compile takes seconds a shape.
        sizes = a.V or (QUICK if a.quick or peer == "torch_compile" else FEW if fused else sorted({*PAPER, *FEW}))
        for dtype in a.dtype or (["f32", "f16"] if a.quick or peer == "torch_compile" else ["f32", "f16", "bf16"]):
            for rows in a.rows or ([4000] if peer == "torch_compile" else [4000, 10]):
                for V in sizes:
                    for k in (a.k or ([5] if a.quick else [5, 10, 15, 30])) if fused else [0]:
                        if k <= V:
                            out.append((peer, dtype, rows, V, k))
    order = {d: i for i, d in enumerate(["f32", "f16", "bf16"])}
    rank = lambda c: (c[2] != 4000, c[4] not in (0, 5), order[c[1]], peers.index(c[0]), c[3])
    return sorted(out, key=rank)


def missing():
    """Why nothing can be timed here, and torch."""
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
    p.add_argument("--dtype", action="append", choices=list(SIZES))
    p.add_argument("--V", action="append", type=int)
    p.add_argument("--rows", action="append", type=int)
    p.add_argument("--k", action="append", type=int)
    p.add_argument("--family", default="normal_1")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--budget", type=float, default=600, help="seconds; what is left then is not_run")
    p.add_argument("--quick", action="store_true")
    p.add_argument("--again", action="store_true", help="measure what the file has, too")
    p.add_argument("--one", help=argparse.SUPPRESS)  # a process of torch.compile: prints its record
    return p.parse_args()


def one_of_compile(r, a):
    """torch.compile specialises by what it saw before: each shape has a process of its own."""
    words = [sys.executable, os.path.abspath(__file__), "--out", a.out, "--assay", a.assay, "--family", a.family,
             "--seed", str(a.seed), "--one", json.dumps(r)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        r["status"], r["reason"] = "failed", (done.stderr.strip().splitlines() or ["no output"])[-1][:300]
        return r
    return json.loads(done.stdout.splitlines()[-1])


def main():
    a = arguments()
    version = subprocess.run([a.assay, "--version"], check=True, capture_output=True, text=True).stdout
    a.commit = version[version.find("(") + 1 : version.find(")")]
    why, torch = missing()
    gpu = "" if why else torch.cuda.get_device_name(0)
    ceilings = Ceilings(os.path.join(a.out, "sweep.jsonl"), gpu)
    graders = concurrent.futures.ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) // 2))
    inputs = Inputs(a)
    try:
        return one_shape(a, torch, ceilings, inputs, graders) if a.one else every_shape(
            a, why, gpu, torch, ceilings, inputs, graders)
    finally:
        graders.shutdown()
        inputs.remove()


def one_shape(a, torch, ceilings, inputs, graders):
    r = json.loads(a.one)
    measure(r, a, torch, ceilings, inputs, graders)()
    print(line_of(r), end="")
    return 0


def every_shape(a, why, gpu, torch, ceilings, inputs, graders):
    os.makedirs(a.out, exist_ok=True)
    path = os.path.join(a.out, "peers.jsonl")
    kept = {identity(r): r for r in read_lines(path)}
    for r in kept.values():  # of a run before the ceilings were measured
        if r["status"] in ("measured", "once") and r["copy_us"] is None and r["gpu"] == gpu:
            ceilings.put(r)
            put_rates(r, gpu)
    write_whole(path, kept.values())  # without a torn last line
    counts = {}
    under_way = collections.deque()  # timed, their outputs being judged

    def end_oldest():
        r, finish = under_way.popleft()
        finish()
        kept[identity(r)] = r
        counts[r["status"]] = counts.get(r["status"], 0) + 1
        with open(path, "a", encoding="utf-8") as f:
            f.write(line_of(r))

    begin = time.monotonic()
    said = set()
    for peer, dtype, rows, V, k in plan(a):
        r, finish = blank(peer, dtype, rows, V, k, a), lambda: None
        had = kept.get(identity(r))
        if had and not a.again and had["status"] != "not_run":
            counts["had"] = counts.get("had", 0) + 1
            continue
        if why:
            if peer in said:
                continue
            said.add(peer)
            r["reason"] = why
        elif time.monotonic() - begin > a.budget:
            r["reason"] = f"the budget of {a.budget:g} s was spent"
        elif peer == "torch_compile":
            r = one_of_compile(r, a)
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
    if why:
        print("peers not run: " + why)
    for r in failed[:3]:
        print(f"  failed: {r['key']} V={r['V']} rows={r['rows']}: {r['reason']}\n    {r['reproduce']}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
