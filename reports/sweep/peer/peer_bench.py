# SPDX-License-Identifier: Apache-2.0
"""One shape of one peer on this GPU: makes logits and buffers, times the launches, and has the outputs judged."""
import concurrent.futures
import gc
import math
import os
import shutil
import subprocess
import tempfile

from peer_libraries import LIBRARIES, SELECTIONS, NotHere, best_first, function_of
from peer_records import KINDS, SIZES, grade, put_rates, take_verdict

MOST_CYCLES_A_LAUNCH = 40_000_000  # 20 ms
MOST_SETS = 64  # sets of buffers; a sweep's own kernels have up to 256


class Unsupported(Exception):
    """The peer does not support this configuration. That is no failure."""


def quantile(samples, q):
    s = sorted(samples)
    at = q * (len(s) - 1)
    low = int(at)
    high = min(low + 1, len(s) - 1)
    return s[low] + (at - low) * (s[high] - s[low])


def median_interval(samples):
    """The 95 % interval of the median, by ranks. None for fewer than 6 samples."""
    n = len(samples)
    if n < 6:
        return None
    s = sorted(samples)
    below, j = 0.0, 0
    while below + math.comb(n, j) / 2.0**n <= 0.025:
        below += math.comb(n, j) / 2.0**n
        j += 1
    return s[j - 1], s[n - j]


def triton_softmax(torch):
    """Makes softmax(x, y): one program per row, with the row in registers, for at most 65536 columns."""
    global tl  # the compiled function looks the name up here
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


def softmax_by_peer(torch, peer, library):
    """The peer's softmax(x, y), which returns the outputs. Only a peer that writes into given outputs uses y."""
    if peer == "torch_compile":
        torch._dynamo.reset()  # forgets the shapes of earlier calls, by which it would specialise
        compiled = torch.compile(lambda x: torch.softmax(x, -1), dynamic=False)
        return lambda x, y: compiled(x)
    if peer in LIBRARIES:
        function = function_of(peer, library, torch)
        return lambda x, y: function(x)
    return triton_softmax(torch)


class Inputs:
    """The logits, which `assay inputs` makes. All peers use the same ones for a dtype and V (row length)."""

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
    """One shape of one peer on this GPU: sets of buffers, timed launches, and outputs to be judged."""

    def __init__(self, torch, a, record, inputs, graders):
        self.torch, self.a, self.r = torch, a, record
        self.inputs, self.graders = inputs, graders
        self.dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[record["dtype"]]
        p = torch.cuda.get_device_properties(0)
        self.twice_l2, self.memory = a.rules.l2_sizes * p.L2_cache_size, p.total_memory
        self.launched = 0
        self.cycles_a_launch = 40_000  # how long the host takes to queue one; grows when that was too short

    def prepare(self):
        torch, r = self.torch, self.r
        rows, V = r["rows"], r["V"]
        tile = self.tile()
        r["distinct_rows"] = min(rows, tile.shape[0])
        pair = r["bytes"]
        # Softmax followed by top-k needs a whole matrix in between.
        needed = pair + (rows * V * SIZES[r["dtype"]] if r["op"] == "softmax_topk" else 0)
        if 2 * needed > self.memory * 0.9:
            raise Unsupported(f"needs {2 * needed / 1e9:.1f} GB of device memory")
        self.large = needed > self.memory / 2
        wanted = max(1, min(MOST_SETS, -(-self.twice_l2 // pair)))
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
        distinct = min(r["rows"], max(1, self.a.rules.tile_elements // r["V"]))
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
        if peer in SELECTIONS:
            best = function_of(peer, self.a.library, torch)
            self.try_library(lambda x, y: best(x, k))
            return lambda i: best(self.x[i], k)
        softmax = softmax_by_peer(torch, peer, self.a.library)
        if peer in LIBRARIES:
            self.try_library(softmax)
        outputs = [torch.empty_like(x) for x in self.x] if peer == "triton_row" else self.y
        return lambda i: softmax(self.x[i], outputs[i])

    def try_library(self, softmax):
        """Calls the library once. If it raises, it has computed nothing, so the shape is unsupported and not wrong."""
        torch = self.torch
        try:
            softmax(self.x[0], None)
            torch.cuda.synchronize()
        except NotHere:
            raise
        except Exception as e:
            if "illegal" in str(e) or "launch failure" in str(e):  # nothing more runs in this process
                raise
            raise Unsupported(f"it refuses this shape: {e}".splitlines()[0][:300]) from e

    def run_us(self, n):
        """Microseconds of n launches. They are all queued before the first one starts, so that no host is timed."""
        torch = self.torch
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        while True:
            if self.flushed:
                self.flush.sum()
            # Keeps the GPU busy while the launches are queued. Counts cycles of a 2 GHz clock.
            torch.cuda._sleep(20_000 + self.cycles_a_launch * n)
            begin.record()
            for _ in range(n):
                i = self.launched % self.sets
                self.y[i] = self.work(i)
                self.launched += 1
            end.record()
            too_late = begin.query()  # the wait had ended before everything was queued
            end.synchronize()
            if not too_late:
                return begin.elapsed_time(end) * 1000
            if self.cycles_a_launch > MOST_CYCLES_A_LAUNCH:
                raise Unsupported("its launches cannot be queued: it waits for the GPU, or takes over 20 ms a launch")
            self.cycles_a_launch *= 2

    def last(self):
        y = self.y[(self.launched - 1) % self.sets]
        if self.r["key"].split("/")[0] in SELECTIONS:
            y = best_first(*y)
        return list(y) if isinstance(y, (tuple, list)) else [y]

    def time(self):
        r, rules = self.r, self.a.rules
        r["launches_per_sample"] = 1
        first = self.run_us(1)
        if self.large or first > rules.too_long_us:
            r["status"], r["times_us"] = "once", [round(first, 3)]
            r["reason"] = ("its buffers exceed half the memory: one sample" if self.large
                           else f"its first launch took over {rules.too_long_us / 1000:g} ms: one sample")
        else:
            most = self.sets if self.flushed else rules.most_launches
            batch = lambda us: max(1, min(most, math.ceil(rules.batch_us / max(us, rules.least_us))))
            one = min(first, self.run_us(1))
            warm = 0.0
            while warm < rules.warm_us:
                n = batch(one)
                us = self.run_us(n)
                one, warm = us / n, warm + us
            n = r["launches_per_sample"] = batch(one)
            spent = 0.0
            while len(r["times_us"]) < rules.most_samples and spent < rules.enough_us:
                us = self.run_us(n)
                spent += us
                r["times_us"].append(round(us / n, 3))
                ci = median_interval(r["times_us"])
                width = rules.narrow * quantile(r["times_us"], 0.5)
                if len(r["times_us"]) >= rules.least_samples and ci and ci[1] - ci[0] <= width:
                    break
            r["status"] = "measured"
        times = r["times_us"]
        r["samples"] = len(times)
        r["median_us"], r["p10_us"], r["p90_us"] = (quantile(times, q) for q in (0.5, 0.1, 0.9))
        ci = median_interval(times)
        if ci:
            r["ci_low_us"], r["ci_high_us"] = ci

    def judge(self, folder):
        """Copies a few rows, with the first and the last among them. `assay grade` judges them in the background."""
        import numpy

        torch, r, a = self.torch, self.r, self.a
        os.mkdir(folder)
        rules = a.rules
        several = min(rules.most_judged_rows, rules.judged_elements // r["V"])
        count = min(r["rows"], max(rules.least_judged_rows, several))
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
        """Times the shape. Returns a function that waits for the verdicts on the outputs, before and after timing."""
        folder = tempfile.mkdtemp(prefix="assay-peer-")
        verdicts = []
        seconds = self.a.seconds
        try:
            with seconds.of("inputs"):
                self.prepare()
            with seconds.of("first launch"):
                self.run_us(1)
            with seconds.of("outputs to the judge"):
                verdicts.append(self.judge(os.path.join(folder, "before")))
            with seconds.of("timing"):
                self.time()
            with seconds.of("outputs to the judge"):
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


def clear_times(r):
    r["times_us"], r["samples"], r["launches_per_sample"] = [], 0, 0
    for name in ("median_us", "p10_us", "p90_us", "ci_low_us", "ci_high_us"):
        r[name] = None


def explain(r, torch, e):
    """Writes into the record, as a status and a reason, what went wrong."""
    if isinstance(e, (Unsupported, NotHere)):
        r["status"], r["reason"] = "unsupported", str(e)
    elif isinstance(e, torch.cuda.OutOfMemoryError):
        r["status"], r["reason"] = "unsupported", "out of device memory"
    else:
        clear_times(r)
        r["status"], r["reason"] = "failed", f"{type(e).__name__}: {e}".splitlines()[0][:300]


def measure(r, a, torch, ceilings, inputs, graders):
    """Times one shape. Returns a function that waits for the judge and completes the record."""
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
    gc.collect()  # a bench refers to itself, and holds its buffers until it is collected
    torch.cuda.empty_cache()

    def finish():
        try:
            verify()
            if r["status"] in ("measured", "once"):
                ceilings.put(r)
                put_rates(r, r["gpu"], a.rules)
        except Exception as e:
            explain(r, torch, e)

    return finish
