#!/usr/bin/env python3
"""Writes what onepass reached, beside its goals and its peers, into reports/sweep/PERFORMANCE.md.

    reports/publish/write_goals.py [DIR]

DIR holds sweep.jsonl and peers.jsonl, or both as .gz (default: reports/published/h200). Replaces what stands between
the two lines `goals: begin` and `goals: end`. Never part of a test.
"""
import gzip
import json
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "sweep", "PERFORMANCE.md")
BEGIN, END = "<!-- goals: begin -->", "<!-- goals: end -->"
DTYPES = ["f32", "f16", "bf16"]
LONG = [4096, 8192, 16384, 32768, 65536, 131072, 262144]
ODD = [1000, 12345, 25000, 50257, 128257]
SHORT = [32, 64, 128, 256, 512]
LADDER = sorted({*SHORT, *LONG, *ODD, 1025, 128256, 151936, 524288, 1048576})
# What is asked for: words, dtypes, numbers of rows, row lengths, and what a time must be: a share of the copy, or
# microseconds above it.
GOALS = [
    ("4000 rows, V = 4096 to 262,144, aligned", ["f16", "bf16"], [4000], LONG, 0.98, None),
    ("the same", ["f32"], [4000], LONG, 0.97, None),
    ("4000 rows, V = 1000, 12,345, 25,000, 50,257, 128,257", DTYPES, [4000], ODD, 0.95, None),
    ("4000 rows, V = 1025", ["f32"], [4000], [1025], 0.95, None),
    ("the same", ["f16", "bf16"], [4000], [1025], 0.90, None),
    ("4000 rows, V = 151,936", DTYPES, [4000], [151936], 0.97, None),
    ("4000 rows, V = 524,288", ["f32"], [4000], [524288], 0.92, None),
    ("4000 rows, V = 1,048,576", ["f32"], [4000], [1048576], 0.88, None),
    ("4000 rows, V = 524,288", ["f16", "bf16"], [4000], [524288], 0.95, None),
    ("4000 rows, V = 1,048,576", ["f16", "bf16"], [4000], [1048576], 0.92, None),
    ("4000 rows, V = 32 to 512", DTYPES, [4000], SHORT, 0.95, 0.3),
    ("10 rows, V = 25,000 to 1,048,576", DTYPES, [10], [25000, 128256, 262144, 1048576], None, 1.3),
    ("1 row, V = 128,256 and 1,048,576", DTYPES, [1], [128256, 1048576], None, 1.3),
]
LSE = ("lse, 4000 rows, V from 4096", DTYPES, [4000], [V for V in LADDER if V >= 4096 and V <= 262144], 0.95, None)


def read(folder, name):
    path = os.path.join(folder, name)
    if os.path.exists(path):
        lines = open(path, encoding="utf-8")
    elif os.path.exists(path + ".gz"):
        lines = gzip.open(path + ".gz", "rt", encoding="utf-8")
    else:
        sys.exit(f"write_goals.py: {folder} holds no {name}")
    with lines:
        return [json.loads(line) for line in lines if line.strip()]


def number(V):
    return f"{V:,}"


class Times:
    """The right times of every kernel: by name, dtype, rows and V."""

    def __init__(self, folder):
        records = [r for r in read(folder, "sweep.jsonl") + read(folder, "peers.jsonl") if r.get("kind") == "sweep"]
        self.all, self.wrong = {}, {}
        for r in records:
            name = r["key"].split("/")[0]
            if r["key"].endswith("@cuda") and r["op"] in ("softmax", "lse") and name != "copy":
                at = (name, r["dtype"], r["rows"], r["V"])
                if r["status"] in ("measured", "once") and r["copy_us"]:
                    self.all[at] = r
                elif r["status"] == "failed" and r["role"] == "peer":
                    self.wrong[at] = r["reason"]
        self.peers = sorted({r["key"].split("/")[0] for r in records if r["role"] == "peer" and r["op"] == "softmax"})
        some = next(iter(self.all.values()))
        commits = sorted({r["commit"] for r in self.all.values()})
        self.head = f"{some['gpu']}, driver {some['driver']}, commit {' and '.join(commits)}"
        done = sum(r["status"] != "not_run" for r in records)
        self.head += f"; {done:,} of {len(records):,} records of the published set and its peers were reached"

    def share(self, name, at, ceiling="copy_us"):
        r = self.all.get((name, *at))
        return r[ceiling] / r["median_us"] if r else None

    def above(self, name, at):
        r = self.all.get((name, *at))
        return r["median_us"] - r["copy_us"] if r else None


def at_of(dtype, rows, V):
    return f"{dtype}, {number(V)}" + ("" if rows == 4000 else f", {rows} rows" if rows != 1 else ", 1 row")


def goal_line(t, goal, name, ceiling="copy_us"):
    words, dtypes, rows, lengths, share, above = goal
    shapes = [(d, r, V) for d in dtypes for r in rows for V in lengths]
    timed = [s for s in shapes if t.share(name, s, ceiling) is not None]
    missed = [s for s in timed
              if not ((share and t.share(name, s, ceiling) >= share) or (above and t.above(name, s) <= above))]
    asked = " or ".join(([f">= {share:.0%}"] if share else []) + ([f"copy + {above} us"] if above else []))
    if not timed:
        return f"| {words} | {', '.join(dtypes)} | {asked} | not measured | | |"
    show = (lambda s: t.share(name, s, ceiling)) if share else (lambda s: -t.above(name, s))
    say = (lambda v: f"{v:.0%}") if share else (lambda v: f"+{-v:.1f} us")
    values = sorted((show(s), s) for s in timed)
    result = f"{say(values[0][0])} ({at_of(*values[0][1])}) to {say(values[-1][0])}"
    best = []
    if ceiling == "copy_us":
        for s in timed:
            best += [(show_peer, p, s) for p in t.peers
                     if (show_peer := (t.share(p, s) if share else -t.above(p, s) if t.above(p, s) is not None else None))
                     is not None]
    by_shape = {}
    for v, p, s in best:
        if s not in by_shape or v > by_shape[s][0]:
            by_shape[s] = (v, p)
    peer = ""
    if by_shape:
        v = sorted(by_shape.values())
        peer = f"{say(v[0][0])} ({v[0][1]}) to {say(v[-1][0])} ({v[-1][1]})"
    verdict = "reached" if not missed and len(timed) == len(shapes) else f"{len(timed) - len(missed)} of {len(shapes)}"
    return f"| {words} | {', '.join(dtypes)} | {asked} | {result} | {peer} | {verdict} |"


def goals(t):
    out = ["| shape | dtypes | goal | `onepass_fast`, lowest to highest | best right peer of each shape | reached at |",
           "|---|---|---|---|---|---|"]
    out += [goal_line(t, g, "onepass_fast") for g in GOALS]
    out += [goal_line(t, LSE, "onepass_lse_fast", "read_us") + " (share of a read)"]
    return out


def matrix(t):
    out = ["| % of the copy, 4000 rows, V = | " + " | ".join(number(V) for V in LADDER) + " |",
           "|---|" + "---|" * len(LADDER)]
    lines = [(n, d) for n in ("onepass_fast", "onepass", "onepass_log_softmax") for d in DTYPES]
    lines += [(p, d) for p in t.peers for d in DTYPES]
    for name, d in lines:
        cells = []
        for V in LADDER:
            s = t.share(name, (d, 4000, V))
            cells.append("wrong" if (name, d, 4000, V) in t.wrong else f"{100 * s:.0f}" if s else "")
        if any(cells):
            out.append(f"| `{name}/{d}` | " + " | ".join(cells) + " |")
    out += ["", "| % of a read, 4000 rows, V = | " + " | ".join(number(V) for V in LADDER) + " |",
            "|---|" + "---|" * len(LADDER)]
    for name, d in [(n, d) for n in ("onepass_lse_fast", "onepass_lse") for d in DTYPES]:
        cells = [t.share(name, (d, 4000, V), "read_us") for V in LADDER]
        out.append(f"| `{name}/{d}` | " + " | ".join(f"{100 * s:.0f}" if s else "" for s in cells) + " |")
    return out


def few_rows(t):
    lengths = [25000, 128256, 262144, 1048576]
    shapes = [(rows, V) for rows in (10, 1) for V in lengths]
    out = ["| us more than the copy | " + " | ".join(f"{r} x {number(V)}" for r, V in shapes) + " |",
           "|---|" + "---|" * len(shapes)]
    for name, d in [(n, d) for n in ("onepass_fast", *t.peers) for d in DTYPES]:
        cells = [t.above(name, (d, r, V)) for r, V in shapes]
        if any(c is not None for c in cells):
            out.append(f"| `{name}/{d}` | " + " | ".join("" if c is None else f"+{c:.1f}" for c in cells) + " |")
    return out


def against(t):
    out = ["| peer | shapes, all timed in this run | its time over that of `onepass_fast`, geometric mean | more than "
           "2 % faster at | wrong at |", "|---|---|---|---|---|"]
    for p in t.peers:
        ratios, faster = [], []
        for (name, d, rows, V), r in sorted(t.all.items()):
            own = t.all.get(("onepass_fast", d, rows, V))
            if name == p and own:
                ratios.append(r["median_us"] / own["median_us"])
                if ratios[-1] < 0.98:
                    faster.append((d, rows, V))
        wrong = [at_of(*k[1:]) for k in sorted(t.wrong) if k[0] == p]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            some = "; ".join(at_of(*s) for s in faster[:4]) + ("; ..." if len(faster) > 4 else "")
            out.append(f"| {p} | {len(ratios)} | {mean:.2f} | {len(faster)}{': ' if some else ''}{some} | "
                       f"{'; '.join(wrong[:4])}{'; ...' if len(wrong) > 4 else ''} |")
    return out


def main():
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and sys.argv[1].startswith("-")):
        sys.exit("usage: write_goals.py [DIR]")
    folder = sys.argv[1] if len(sys.argv) == 2 else os.path.join(HERE, "..", "published", "h200")
    t = Times(folder)
    text = open(PAGE, encoding="utf-8").read()
    if BEGIN not in text or END not in text:
        sys.exit(f"write_goals.py: {PAGE} lacks the lines {BEGIN} and {END}")
    parts = [[f"{t.head}. Shares are of the fastest copy of the same run, medians."], goals(t), matrix(t), few_rows(t),
             against(t)]
    made = "\n\n".join("\n".join(p) for p in parts)
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    with open(PAGE + ".part", "w", encoding="utf-8") as f:
        f.write(f"{before}{BEGIN}\n{made}\n{END}{after}")
    os.replace(PAGE + ".part", PAGE)


if __name__ == "__main__":
    main()
